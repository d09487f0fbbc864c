-- The first stale block of a topic that reaches an instant. Always one row; null means that there is none.
select min(b.seq) as first
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and t.active and b.status = 'stale' and b.next_pos >= %(from_pos)s
