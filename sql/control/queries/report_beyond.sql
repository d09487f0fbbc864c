-- How many blocks and rows of a topic lie behind a position: what a reset to it would take back. Always one row.
select count(*) as blocks, coalesce(sum(b.base_rows), 0)::bigint as rows
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.status in ('committed', 'stale') and (b.next_pos, b.next_id) > (%(pos)s, %(id)s)
