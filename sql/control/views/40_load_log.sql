-- What was loaded: one row per committed block, also if it took several attempts or was restated.
create view dwh.load_log as
select s.block_id, t.name as topic, b.seq, s.loaded_at, s.rows, b.base_rows, s.seconds,
       case when s.seconds > 0 then s.rows / s.seconds end as rows_per_second,
       s.lag, s.bytes, s.bytes_read, s.max_id, s.min_pos, s.max_pos, s.nulls, s.measures, s.expects, s.checks,
       s.execution_id, e.attempt, e.worker, s.memory, b.late_rows, b.status
from dwh.load_stat s
join dwh.block b on b.id = s.block_id
join dwh.topic t on t.id = s.topic_id
join dwh.execution e on e.id = s.execution_id;
