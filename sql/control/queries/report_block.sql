-- One block with its bounds and statistics. No row means that there is no such block.
select b.id, t.name as topic, t.target, b.seq, b.kind, b.status, b.last_pos, b.last_id, b.next_pos, b.next_id, b.upto, b.takes_all,
       b.planned_rows, b.base_rows, b.hash_sum, b.failures, b.crashes, b.waived, b.late_rows, b.planned_at, b.committed_at,
       s.rows, s.seconds, s.bytes, s.bytes_read, s.memory, s.max_id, s.min_pos, s.max_pos,
       extract(epoch from s.lag)::float8 as lag_seconds,
       s.nulls, s.measures, s.expects, s.checks, s.execution_id
from dwh.block b
join dwh.topic t on t.id = b.topic_id
left join dwh.load_stat s on s.block_id = b.id
where b.id = %(block_id)s
