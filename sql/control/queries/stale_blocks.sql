-- The topics that have stale blocks, and from where to where. No row means that everything is up to date.
select t.name as topic, min(b.seq) as first, max(b.seq) as last
from dwh.block b join dwh.topic t on t.id = b.topic_id
where b.status = 'stale'
group by t.name
