-- The first block behind a position that is a block's end, and the last one. No row means that it is not the end of a block.
select min(b.seq) as seq, max(b.seq) as last
from dwh.topic t
join dwh.block at on at.topic_id = t.id and at.status <> 'void' and (at.next_pos, at.next_id) = (%(pos)s, %(id)s)
join dwh.block b on b.topic_id = t.id and b.status in ('committed', 'stale', 'skipped') and b.seq > at.seq
where t.name = %(topic)s
having count(*) > 0
