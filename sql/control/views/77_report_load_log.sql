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
comment on column dwh.report_load_log.loaded_at is 'when it was committed';
comment on column dwh.report_load_log.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.report_load_log.number is 'its place in the topic, from 1 on';
comment on column dwh.report_load_log.block is 'number of the block';
comment on column dwh.report_load_log.rows is 'rows that were written';
comment on column dwh.report_load_log.base_rows is 'rows that were read from the base table';
comment on column dwh.report_load_log.seconds is 'how long the attempt took';
comment on column dwh.report_load_log.rows_per_second is 'rows written a second';
comment on column dwh.report_load_log.bytes_written is 'bytes written';
comment on column dwh.report_load_log.bytes_read is 'bytes read';
comment on column dwh.report_load_log.bytes_per_second is 'bytes read and written a second';
comment on column dwh.report_load_log.memory is 'peak memory in bytes';
comment on column dwh.report_load_log.lag is 'how old its newest row was then';
comment on column dwh.report_load_log.nulls is 'column -> how many rows lack a value';
comment on column dwh.report_load_log.late_rows is 'rows that appeared in the base table behind what was loaded';
comment on column dwh.report_load_log.attempt is 'which attempt it was';
comment on column dwh.report_load_log.worker is 'the worker that did it';
comment on column dwh.report_load_log.status is 'state of the block now';
comment on column dwh.report_load_log.instance is 'number of the execution';
