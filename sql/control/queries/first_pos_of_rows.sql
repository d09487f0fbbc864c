-- The least position of the rows that a topic's blocks from a sequence number on have written. Always one row; null: unknown.
select min(s.min_pos) as pos
from dwh.load_stat s join dwh.block b on b.id = s.block_id
where b.topic_id = %(topic_id)s and b.seq >= %(seq)s and b.status in ('committed', 'stale')
