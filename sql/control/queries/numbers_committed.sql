-- Which of these numbers belong to blocks of a topic that were committed at some time, history included.
select distinct b.seq from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.seq = any(%(seqs)s) and b.committed_at is not null
