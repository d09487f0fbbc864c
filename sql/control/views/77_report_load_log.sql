-- What was loaded in the last 30 days, newest first, with the engine's figures (S51): duration, rows and bytes a second, memory,
-- bytes read and written. dwh.load_log goes back to the beginning.
create view dwh.report_load_log as
select l.loaded_at, l.topic, l.seq as number, l.block_id as block, l.rows, l.base_rows, l.seconds,
       round(l.rows_per_second) as rows_per_second,
       l.bytes as bytes_written, l.bytes_read,
       case when l.seconds > 0 then round((l.bytes + l.bytes_read) / l.seconds) end as bytes_per_second,
       l.memory, l.lag, l.nulls, l.late_rows, l.attempt, l.worker, l.status, l.execution_id as instance
from dwh.load_log l
where l.loaded_at > now() - interval '30 days'
order by l.loaded_at desc;
comment on view dwh.report_load_log is 'what was loaded in the last 30 days, newest first, with rows and bytes a second';
