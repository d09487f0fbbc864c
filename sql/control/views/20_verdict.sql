-- One verdict per topic: why it is or is not due, and `upto`, the horizon it may read to.
-- Ask for one topic, or some, by topic_id: that reaches into every part of the view, so that only these topics are looked at.
-- Name the columns: what is not asked for is not computed, and the texts cost more than the verdicts.
-- No part is a `with`: Postgres would then copy every row once more.
-- The order of the cases is the order of the words in the documentation; dwh_assets/model/verdict.py is the same rule in Python.
create view dwh.verdict as
select n.id as topic_id, n.name as topic, n.module, n.target, n.shard, n.area, n.processor, n.priority, n.verdict,
       n.verdict in ('DUE', 'DUE_FULL', 'DUE_REPLAY') as due,
       n.upto, n.slowest, n.is_unknown, n.unexamined, n.planned, n.planned_next, n.open_block, n.parked_block, n.restatement, n.pending_rows,
       n.last_planned_full,
       n.last_pos, n.last_id, n.watermark, n.examined, n.token, n.newest, n.last_end, n.not_before, n.problem,
       case n.verdict
           when 'INACTIVE' then case
               when n.active and n.module_active
               then format('paused by %s since %s: %s; dwh resume %s --reason ...', n.paused_by, to_char(n.paused_at, 'YYYY-MM-DD HH24:MI:SS'),
                           n.paused, n.name)
               else format('%s is switched off', case when n.module_active then 'this topic' else 'module ' || n.module end) end
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
               then format('waits for %s, %s', n.slowest, case when n.least < '0001-01-02' then 'which has loaded nothing yet'
                                                               else 'complete up to ' || left(n.least::text, 19) end)
               else format('all loaded; its base table holds nothing newer than %s', coalesce(left(n.newest::text, 19), 'its start')) end
           when 'WAIT_DELAY' then format('newer rows wait out the delay of %s', n.delay)
           when 'DUE_FULL' then case when n.backfill_at is null then 'the last block was full, more is waiting'
                                     else 'is backfilled behind the live topics, more is waiting' end
           when 'REPEAT' then format('has new rows; runs again at %s', to_char(n.last_end + n.repeat, 'HH24:MI:SS'))
           else 'has new rows' end as reason
from (
    select j.*,
           regexp_replace(split_part(j.problem, E'\n', 1), '^topic [^ ]+, block #\d+: ', '') as short_problem,
           case when not (j.active and j.module_active and j.paused is null) then 'INACTIVE'
                when j.last_pos is null then 'NOT_INITIALISED'
                when j.lease_until > now() then 'LOCKED'
                when case when j.window_start is null then false
                          when j.window_start < j.window_end then j.local_time < j.window_start or j.local_time >= j.window_end
                          else j.local_time < j.window_start and j.local_time >= j.window_end end then 'WINDOW'
                when j.parked_block is not null and j.restatement is null or j.not_before > now() then 'BACKOFF'
                when j.restatement is not null or j.open_next <= j.upto and j.is_unknown is not true then 'DUE_REPLAY'
                when j.is_unknown then 'DEP_UNKNOWN'
                when j.open_block is not null then 'WAIT_DEP'   -- an input was rolled back: its rows must come again first
                when j.planned_next <= j.upto or j.unexamined then
                    case when j.last_full then 'DUE_FULL' when j.last_end + j.repeat > now() then 'REPEAT' else 'DUE' end
                when j.least <= now() - j.delay or coalesce(j.newest <= j.last_pos, true) then 'WAIT_DEP'
                else 'WAIT_DELAY' end as verdict
    from (
        select f.*,
               case when f.processor in ('reload', 'range') then f.upto > f.last_pos
                    else f.upto > coalesce(f.examined, '-infinity') and f.newest > coalesce(f.examined, '-infinity') end as unexamined,
               (now() at time zone f.timezone)::time as local_time
        from (
            select t.*, m.processor, m.area,
                   m.priority - case when t.backfill_at is null then 0 else 60 end as priority,   -- a step is a minute of waiting
                   m.repeat, m.delay, m.window_start, m.window_end, m.timezone,
                   m.active as module_active,
                   d.least, d.is_unknown, d.slowest, d.unknown, d.newest,
                   coalesce(u.planned, 0) as planned, u.planned_next, u.open_block, u.open_next, u.parked_block, u.pending_rows,
                   coalesce(u.last_planned_full, false) as last_planned_full,
                   r.id as restatement,
                   least(d.least, now() - m.delay) as upto
            from dwh.topic t
            join dwh.module m on m.name = t.module and m.kind = 'table'
            left join dwh.dependency d on d.topic_id = t.id
            left join dwh.unfinished u on u.topic_id = t.id
            left join dwh.restatement r on r.topic_id = t.id and r.status = 'open'
        ) f
    ) j
) n;
comment on view dwh.verdict is 'one verdict per topic: why it is or is not due; ask for few, by topic_id';
comment on column dwh.verdict.topic_id is 'number of the topic';
comment on column dwh.verdict.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.verdict.module is 'name of its module: db.table[#tag]';
comment on column dwh.verdict.target is 'the table it fills';
comment on column dwh.verdict.shard is 'its shard; null: it has none';
comment on column dwh.verdict.area is 'folder of its file below lineage/';
comment on column dwh.verdict.processor is 'how it is loaded: step, upsert, ...';
comment on column dwh.verdict.priority is 'who comes first where workers are few; a backfilled topic has 60 less';
comment on column dwh.verdict.verdict is 'why it is or is not due, in one word';
comment on column dwh.verdict.due is 'true: it may be loaded now';
comment on column dwh.verdict.upto is 'the horizon it may read to now';
comment on column dwh.verdict.slowest is 'the dependency that is least complete';
comment on column dwh.verdict.is_unknown is 'true: nothing is known of at least one dependency, so that nothing may be read';
comment on column dwh.verdict.unexamined is 'true: rows beyond its plan may wait';
comment on column dwh.verdict.planned is 'blocks that are planned';
comment on column dwh.verdict.planned_next is 'where the first planned one ends';
comment on column dwh.verdict.open_block is 'number of the begun block';
comment on column dwh.verdict.parked_block is 'number of the parked block';
comment on column dwh.verdict.restatement is 'number of the restatement that was begun; null: none';
comment on column dwh.verdict.pending_rows is 'base rows of planned and begun blocks';
comment on column dwh.verdict.last_planned_full is 'true: no block takes all that was there';
comment on column dwh.verdict.last_pos is 'pos of its cursor: all up to here is loaded';
comment on column dwh.verdict.last_id is 'id of its cursor';
comment on column dwh.verdict.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.verdict.examined is 'up to where the base table was looked at';
comment on column dwh.verdict.token is 'it rises with each claim; an older one can change nothing';
comment on column dwh.verdict.newest is 'an upper bound of the positions that are there';
comment on column dwh.verdict.last_end is 'when its last run ended';
comment on column dwh.verdict.not_before is 'it rests until then, after a failure';
comment on column dwh.verdict.problem is 'the error that it waits for; null: none';
comment on column dwh.verdict.reason is 'the verdict in a sentence';
