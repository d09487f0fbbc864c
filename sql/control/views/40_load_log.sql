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
comment on view dwh.load_log is 'what was loaded: one row per committed block, also if it took several attempts or was restated';
comment on column dwh.load_log.block_id is 'number of the block';
comment on column dwh.load_log.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.load_log.seq is 'its place in the topic, from 1 on';
comment on column dwh.load_log.loaded_at is 'when it was committed';
comment on column dwh.load_log.rows is 'rows that were written';
comment on column dwh.load_log.base_rows is 'rows that were read from the base table';
comment on column dwh.load_log.seconds is 'how long the attempt took';
comment on column dwh.load_log.rows_per_second is 'rows written a second';
comment on column dwh.load_log.lag is 'how old its newest row was then';
comment on column dwh.load_log.bytes is 'bytes written';
comment on column dwh.load_log.bytes_read is 'bytes read';
comment on column dwh.load_log.max_id is 'greatest id among the newest rows';
comment on column dwh.load_log.min_pos is 'least pos of its rows';
comment on column dwh.load_log.max_pos is 'greatest pos of its rows';
comment on column dwh.load_log.nulls is 'column -> how many rows lack a value';
comment on column dwh.load_log.measures is 'name -> value of the measures of its module';
comment on column dwh.load_log.expects is 'name -> how many rows meet it';
comment on column dwh.load_log.checks is 'the results of its checks';
comment on column dwh.load_log.execution_id is 'the execution that wrote it';
comment on column dwh.load_log.attempt is 'which attempt it was';
comment on column dwh.load_log.worker is 'the worker that did it';
comment on column dwh.load_log.memory is 'peak memory in bytes';
comment on column dwh.load_log.late_rows is 'rows that appeared in the base table behind what was loaded';
comment on column dwh.load_log.status is 'state of the block now';
