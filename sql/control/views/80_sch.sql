-- The scheduler's vocabulary: Offsets, Lineage, LagLive, Log and ErrLog with the names of its document, as views to read.
-- A position is a pair, as there: (last).pos, (last).id; pairs compare as pairs.
-- "table" and "user" are words of SQL here and must be quoted. Spans are the texts of the Lineage.

-- Sources with the newest position seen, topics with their cursor. `next` is the end of the block that was begun, else `last`:
-- what was committed. `hostid` is empty when nobody holds the topic.
create view sch.offsets as
select s.name as topic, row(s.newest_pos, 0)::sch.position as last, null::bigint as rows, row(s.newest_pos, 0)::sch.position as next,
       s.seen_at as run, '' as processor, coalesce(s.problem, '') as state, '' as hostid
from dwh.source s where not s.removed
union all
select t.name, case when t.last_pos is not null then row(t.last_pos, t.last_id)::sch.position end, b.planned_rows,
       case when b.id is not null then row(b.next_pos, b.next_id)::sch.position
            when t.last_pos is not null then row(t.last_pos, t.last_id)::sch.position end,
       greatest(t.last_end, e.started_at, e.ended_at),
       case m.processor when 'upsert' then 'UniqId'
                        else case when m.processor like '%:%' then m.processor else replace(initcap(replace(m.processor, '_', ' ')), ' ', '') end end,
       case when t.lease_until > now() then 'processing' else coalesce(split_part(t.problem, E'\n', 1), '') end,
       case when t.lease_until > now() then t.lease_worker else '' end
from dwh.topic t
join dwh.module m on m.name = t.module
left join dwh.block b on b.topic_id = t.id and b.status in ('open', 'parked')
left join lateral (select x.started_at, x.ended_at from dwh.execution x where x.topic_id = t.id order by x.id desc limit 1) e on true
where t.active and not m.removed;

-- Every version of every Lineage row, with who wrote it and when; a version that removed the row is not a row.
create view sch.lineagesource as
select v.module as "table",
       (select string_agg(d, ',') from jsonb_array_elements_text(v.spec -> 'depends_on') d) as depends_on,
       case when v.spec ->> 'processor' = 'upsert' then 'UniqId' when v.spec ->> 'processor' like '%:%' then v.spec ->> 'processor'
            else replace(initcap(replace(v.spec ->> 'processor', '_', ' ')), ' ', '') end as processor,
       (select string_agg(d, ',') from jsonb_array_elements_text(v.spec -> 'transforms') d) as transforms,
       v.spec ->> 'delay' as delay,
       v.spec ->> 'repeat' as repeat,
       v.spec ->> 'maxstep' as maxstep,
       v.spec ->> 'comment' as comment,
       coalesce((select string_agg(a ->> 'sql', '; ') from jsonb_array_elements(v.spec -> 'before') a), '') as before,
       coalesce((select string_agg(a ->> 'sql', '; ') from jsonb_array_elements(v.spec -> 'after') a), '') as after,
       v.changed_by as "user",
       v.changed_at as updated_at,
       v.version
from dwh.module_version v
where v.spec is not null;

-- The Lineage rows in force: the newest version of each.
create view sch.lineage as
select l."table", l.depends_on, l.processor, l.transforms, l.delay, l.repeat, l.maxstep, l.comment, l.before, l.after, l."user", l.updated_at
from sch.lineagesource l
join dwh.module m on m.name = l."table" and m.version = l.version and not m.removed;

-- What is to run, and why the rest is not: the job list of the scheduler.
create view sch.laglive as
select v.topic, v.target as "table", v.verdict as state, v.due, v.reason, v.slowest as waits_for, v.upto,
       case when v.last_pos is not null then row(v.last_pos, v.last_id)::sch.position end as last,
       extract(epoch from now() - v.watermark)::bigint as lag
from dwh.verdict v;

-- What was inserted, one row per committed block. `query_id` is the execution that wrote it.
create view sch.logstore as
select t.name as topic, s.loaded_at as ts, s.rows, s.max_id, s.min_pos as min_ts, s.max_pos as max_ts,
       extract(epoch from s.loaded_at - s.min_pos)::bigint as max_lag, s.nulls, s.execution_id as query_id
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id;
create view sch.log as select * from sch.logstore;

-- The same with the engine's figures.
create view sch.logext as
select t.name as topic, s.loaded_at as ts, s.rows, s.max_id, s.min_pos as min_ts, s.max_pos as max_ts,
       extract(epoch from s.loaded_at - s.min_pos)::bigint as max_lag, s.nulls, s.execution_id as query_id,
       s.seconds as duration, case when s.seconds > 0 then s.rows / s.seconds end as rows_per_second,
       s.memory as memory_usage, s.bytes_read as read_bytes, s.bytes as written_bytes, e.worker as hostid
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id
join dwh.execution e on e.id = s.execution_id;

-- Errors of the last day, grouped by topic and text, newest first.
create view sch.errlog as
select e.topic, e.last_at as ts, e.first_at as first_ts, e.times as count, e.text as error from dwh.errors e;
