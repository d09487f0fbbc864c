-- One verdict per topic: why it is or is not due, and `upto`, the horizon it may read to.
-- Ask for one topic by topic_id: that reaches into every part of the view, so that only this topic is looked at.
-- The order of the cases is the order of the words in the documentation; dwh_assets/model/verdict.py is the same rule in Python.
create view dwh.verdict as
with dependency as not materialized (
    select a.topic_id,
           min(a.watermark) as least,
           (array_agg(a.table_name order by a.watermark, a.ordinal))[1] as slowest,
           array_agg(a.table_name order by a.watermark, a.ordinal) filter (where a.watermark is null) as unknown,
           max(a.newest) filter (where a.ordinal = 0) as newest
    from dwh.awaited a
    group by a.topic_id
),
unfinished as not materialized (
    select topic_id,
           count(*) filter (where status = 'planned') as planned,
           min(next_pos) filter (where status = 'planned') as planned_next,
           max(id) filter (where status = 'open') as open_block,
           max(next_pos) filter (where status = 'open') as open_next,
           max(id) filter (where status = 'parked') as parked_block,
           bool_and(not takes_all) as last_planned_full,
           sum(planned_rows) as pending_rows
    from dwh.block
    where status in ('planned', 'open', 'parked')
    group by topic_id
),
fact as (
    select t.*, m.processor, m.area, m.repeat, m.delay, m.window_start, m.window_end, m.timezone,
           m.active as module_active,
           d.least, d.slowest, d.unknown, d.newest,
           coalesce(u.planned, 0) as planned, u.planned_next, u.open_block, u.open_next, u.parked_block, u.pending_rows,
           coalesce(u.last_planned_full, false) as last_planned_full,
           r.id as restatement,
           least(d.least, now() - m.delay) as upto
    from dwh.topic t
    join dwh.module m on m.name = t.module
    join dependency d on d.topic_id = t.id
    left join unfinished u on u.topic_id = t.id
    left join dwh.restatement r on r.topic_id = t.id and r.status = 'open'
),
judged as (
    select f.*,
           case when f.processor in ('reload', 'range') then f.upto > f.last_pos
                else f.upto > coalesce(f.examined, '-infinity') and f.newest > coalesce(f.examined, '-infinity') end as unexamined,
           (now() at time zone f.timezone)::time as local_time
    from fact f
),
decided as (
    select j.*,
           coalesce(j.planned_next <= j.upto, false) or coalesce(j.unexamined, false) as has_data,
           case when j.window_start is null then true
                when j.window_start < j.window_end then j.local_time >= j.window_start and j.local_time < j.window_end
                else j.local_time >= j.window_start or j.local_time < j.window_end end as in_window,
           coalesce(j.last_end + j.repeat <= now(), true) as repeated,
           regexp_replace(split_part(j.problem, E'\n', 1), '^topic [^ ]+, block #\d+: ', '') as short_problem
    from judged j
),
named as (
    select d.*,
           case when not (d.active and d.module_active) then 'INACTIVE'
                when d.last_pos is null then 'NOT_INITIALISED'
                when d.lease_until > now() then 'LOCKED'
                when not d.in_window then 'WINDOW'
                when d.parked_block is not null and d.restatement is null or d.not_before > now() then 'BACKOFF'
                when d.restatement is not null or d.open_next <= d.upto then 'DUE_REPLAY'
                when d.open_block is not null then 'WAIT_DEP'   -- an input was rolled back: its rows must come again first
                when d.unknown is not null then 'DEP_UNKNOWN'
                when not d.has_data and (d.least <= now() - d.delay or coalesce(d.newest <= d.last_pos, true)) then 'WAIT_DEP'
                when not d.has_data then 'WAIT_DELAY'
                when d.last_full then 'DUE_FULL'
                when not d.repeated then 'REPEAT'
                else 'DUE' end as verdict
    from decided d
)
select n.id as topic_id, n.name as topic, n.module, n.target, n.shard, n.area, n.processor, n.verdict,
       n.verdict in ('DUE', 'DUE_FULL', 'DUE_REPLAY') as due,
       n.upto, n.slowest, n.unexamined, n.planned, n.planned_next, n.open_block, n.parked_block, n.restatement, n.pending_rows,
       n.last_planned_full,
       n.last_pos, n.last_id, n.watermark, n.examined, n.token, n.newest, n.last_end, n.not_before, n.problem,
       case n.verdict
           when 'INACTIVE' then format('%s is switched off', case when n.module_active then 'this topic' else 'module ' || n.module end)
           when 'NOT_INITIALISED' then format('has no cursor yet; dwh reset %s --to earliest|now|TIMESTAMP --reason ...', n.name)
           when 'LOCKED' then format('worker %s holds it until %s (token %s)', n.lease_worker, to_char(n.lease_until, 'HH24:MI:SS'), n.token)
           when 'WINDOW' then format('runs only %s-%s %s', to_char(n.window_start, 'HH24:MI'), to_char(n.window_end, 'HH24:MI'), n.timezone)
           when 'BACKOFF' then case
               when n.parked_block is not null
               then format('block #%s is parked: %s; dwh retry, release or skip %s', n.parked_block, n.short_problem, n.name)
               else format('tries again at %s: %s', to_char(n.not_before, 'HH24:MI:SS'), n.short_problem) end
           when 'DUE_REPLAY' then case
               when n.restatement is not null then format('restatement %s was begun and is finished first', n.restatement)
               else format('block #%s was begun and is repeated with the same bounds', n.open_block) end
           when 'DEP_UNKNOWN' then format('nothing is known yet of %s', (select string_agg(distinct name, ', ') from unnest(n.unknown) name))
           when 'WAIT_DEP' then case
               when n.least <= now() - n.delay
               then format('waits for %s, complete up to %s', n.slowest, left(n.least::text, 19))
               else format('all loaded; its base table holds nothing newer than %s', coalesce(left(n.newest::text, 19), 'its start')) end
           when 'WAIT_DELAY' then format('newer rows wait out the delay of %s', n.delay)
           when 'DUE_FULL' then 'the last block was full, more is waiting'
           when 'REPEAT' then format('has new rows; runs again at %s', to_char(n.last_end + n.repeat, 'HH24:MI:SS'))
           else 'has new rows' end as reason
from named n;
