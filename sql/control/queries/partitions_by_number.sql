-- Partitions of a topic by the numbers of their blocks; those that do not exist, were left out or are history, are not among them.
select p.* from dwh.partition p join dwh.topic t on t.id = p.tile
where t.name = %(topic)s and p.seq = any(%(seqs)s)
order by p.seq
