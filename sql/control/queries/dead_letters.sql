-- What could not be loaded, by block and reason, newest first; what was tried again only on demand.
select t.name as topic, t.target as "table", d.block_id, b.seq, b.committed_at, d.reason, d.rows, d.replayed_by
from dwh.dead_letter d
join dwh.block b on b.id = d.block_id
join dwh.topic t on t.id = b.topic_id
where (%(topic)s::text is null or t.name = %(topic)s) and (d.replayed_by is null or %(replayed)s)
order by d.block_id desc, d.reason
