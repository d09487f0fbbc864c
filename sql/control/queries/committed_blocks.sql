-- Every committed block of a topic, in order.
select b.*, t.shard from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale')
order by b.seq
