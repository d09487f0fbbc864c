-- The committed blocks of a table whose rows are there, with the content that was noted of their present rows (null: none yet).
-- Returns one row per block; no row means that nothing is committed.
select s.block_id, t.name as topic, s.rows, s.execution_id,
       case when s.content_of = s.execution_id then s.content_hash end as content_hash
from dwh.load_stat s
join dwh.block b on b.id = s.block_id
join dwh.topic t on t.id = b.topic_id
where t.target = %(table)s and b.status in ('committed', 'stale') and b.expired_at is null
order by s.block_id
