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
