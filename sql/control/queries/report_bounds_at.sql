-- The ends of a topic's blocks at an instant, start included. Nothing where no block ends there.
select b.next_pos, b.next_id
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.next_pos = %(pos)s and b.status in ('committed', 'stale', 'skipped')
