-- Every topic as a person wants to see it: what the verdict is and why, how far it is, what is waiting.
-- `changed_blocks` have base rows that an audit found changed since they were read.
-- `lag` is how far its watermark is behind the clock; it is null for a topic that has loaded nothing yet.
-- `pending_rows` are those of planned and begun blocks; `more` says that rows beyond the plan may wait too.
create view dwh.status as
with stale as (
    select topic_id, count(*) as blocks from dwh.block where status = 'stale' group by topic_id
),
late as (
    select topic_id, sum(late_rows)::bigint as rows
    from dwh.block where late_rows > 0 and status in ('committed', 'stale') group by topic_id
),
changed as (
    select topic_id, count(*) as blocks from dwh.load_stat where audit_found is not null group by topic_id
)
select v.topic, v.module, v.target, v.shard, v.area, v.processor, v.verdict, v.due,
       v.last_pos, v.last_id, v.watermark,
       case when v.watermark > '0001-01-02' then greatest(now() - v.watermark, interval '0') end as lag,
       coalesce(v.pending_rows, 0)::bigint as pending_rows,
       v.planned as planned_blocks,
       coalesce(v.unexamined, false) as more,
       coalesce(v.open_block, v.parked_block) as begun_block,
       v.parked_block is not null as parked,
       coalesce(s.blocks, 0) as stale_blocks,
       coalesce(l.rows, 0) as late_rows,
       v.reason as why,
       v.problem, v.upto, v.slowest, v.newest, v.last_end, v.not_before, v.restatement,
       t.rows_per_second, t.lease_worker, t.lease_until, t.token,
       m.base, m.delay, m.repeat, m.promise, m.window_start, m.window_end, m.timezone,
       coalesce(c.blocks, 0) as changed_blocks
from dwh.verdict v
join dwh.topic t on t.id = v.topic_id
join dwh.module m on m.name = v.module
left join stale s on s.topic_id = v.topic_id
left join late l on l.topic_id = v.topic_id
left join changed c on c.topic_id = v.topic_id;
comment on view dwh.status is 'every topic as a person wants to see it: verdict, cursor, lag, what waits, and why';
comment on column dwh.status.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.status.module is 'name of its module: db.table[#tag]';
comment on column dwh.status.target is 'the table it fills';
comment on column dwh.status.shard is 'its shard; null: it has none';
comment on column dwh.status.area is 'folder of its file below lineage/';
comment on column dwh.status.processor is 'how it is loaded: step, upsert, ...';
comment on column dwh.status.verdict is 'why it is or is not due, in one word';
comment on column dwh.status.due is 'true: it may be loaded now';
comment on column dwh.status.last_pos is 'pos of its cursor: all up to here is loaded';
comment on column dwh.status.last_id is 'id of its cursor';
comment on column dwh.status.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.status.lag is 'how far its watermark is behind the clock; null: it has loaded nothing yet';
comment on column dwh.status.pending_rows is 'base rows of planned and begun blocks';
comment on column dwh.status.planned_blocks is 'blocks that are planned';
comment on column dwh.status.more is 'true: rows beyond the plan may wait, too';
comment on column dwh.status.begun_block is 'number of the begun or parked block';
comment on column dwh.status.parked is 'true: a block waits for a person';
comment on column dwh.status.stale_blocks is 'blocks that were built upon rows which changed since';
comment on column dwh.status.late_rows is 'rows that appeared in the base table behind what was loaded';
comment on column dwh.status.why is 'the verdict in a sentence';
comment on column dwh.status.problem is 'the error that it waits for; null: none';
comment on column dwh.status.upto is 'the horizon it may read to now';
comment on column dwh.status.slowest is 'the dependency that is least complete';
comment on column dwh.status.newest is 'an upper bound of the positions that are there';
comment on column dwh.status.last_end is 'when its last run ended';
comment on column dwh.status.not_before is 'it rests until then, after a failure';
comment on column dwh.status.restatement is 'number of the restatement that was begun; null: none';
comment on column dwh.status.rows_per_second is 'how fast it loads, a moving average';
comment on column dwh.status.lease_worker is 'who holds its lease';
comment on column dwh.status.lease_until is 'until when its lease runs';
comment on column dwh.status.token is 'it rises with each claim; an older one can change nothing';
comment on column dwh.status.base is 'its base table';
comment on column dwh.status.delay is 'how long its newest rows wait';
comment on column dwh.status.repeat is 'least time between two runs';
comment on column dwh.status.promise is 'the lag that its file promises';
comment on column dwh.status.window_start is 'its daily window begins';
comment on column dwh.status.window_end is 'its daily window ends';
comment on column dwh.status.timezone is 'zone of the window and of days';
comment on column dwh.status.changed_blocks is 'blocks whose base rows an audit found changed since they were read';
