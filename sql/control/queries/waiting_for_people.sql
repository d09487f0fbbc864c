-- Blocks and restatements that nobody will try again by himself. No row means that recovery needs no person (I7).
select t.name as topic, b.id as block_id, b.status, t.problem
from dwh.block b
join dwh.topic t on t.id = b.topic_id
where b.status = 'parked'
union all
select t.name, null, r.kind || ' ' || r.status, t.problem
from dwh.restatement r
join dwh.topic t on t.id = r.topic_id
where r.status = 'failed'
order by 1, 2
