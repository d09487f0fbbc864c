-- The blocks of a topic from a sequence number on that a rollback takes back, in order, with the rows that each wrote.
-- No row means that there is nothing to take back.
select b.id, b.seq, b.status, b.last_pos, b.last_id, b.next_pos, b.next_id, coalesce(s.rows, 0) as rows, s.min_pos, s.execution_id
from dwh.block b
join dwh.topic t on t.id = b.topic_id
left join dwh.load_stat s on s.block_id = b.id
where t.name = %(topic)s and b.kind <> 'start' and b.status in ('committed', 'stale', 'skipped') and b.seq >= %(first)s
order by b.seq
