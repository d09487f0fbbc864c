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
comment on view sch.offsets is 'sources with the newest position seen, topics with their cursor';
comment on column sch.offsets.topic is 'name of the source or topic';
comment on column sch.offsets.last is 'what was committed, or seen of a source: (pos, id)';
comment on column sch.offsets.rows is 'base rows of the begun block';
comment on column sch.offsets.next is 'the end of the begun block, else as last';
comment on column sch.offsets.run is 'when it last ran, or was looked at';
comment on column sch.offsets.processor is 'processor by the name of the document';
comment on column sch.offsets.state is 'processing while it is held, else the first line of its problem';
comment on column sch.offsets.hostid is 'who holds it; empty: nobody';

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
comment on view sch.lineagesource is 'every version of every Lineage row, with who wrote it and when';
comment on column sch.lineagesource."table" is 'name of the module';
comment on column sch.lineagesource.depends_on is 'its dependencies, separated by commas';
comment on column sch.lineagesource.processor is 'processor by the name of the document';
comment on column sch.lineagesource.transforms is 'its transforms, separated by commas';
comment on column sch.lineagesource.delay is 'how long its newest rows wait';
comment on column sch.lineagesource.repeat is 'least time between two runs';
comment on column sch.lineagesource.maxstep is 'rows of a block';
comment on column sch.lineagesource.comment is 'a note of its maintainers';
comment on column sch.lineagesource.before is 'SQL before the transforms';
comment on column sch.lineagesource.after is 'SQL after the transforms';
comment on column sch.lineagesource."user" is 'who wrote it';
comment on column sch.lineagesource.updated_at is 'when it was applied';
comment on column sch.lineagesource.version is 'version of the module';

-- The Lineage rows in force: the newest version of each.
create view sch.lineage as
select l."table", l.depends_on, l.processor, l.transforms, l.delay, l.repeat, l.maxstep, l.comment, l.before, l.after, l."user", l.updated_at
from sch.lineagesource l
join dwh.module m on m.name = l."table" and m.version = l.version and not m.removed;
comment on view sch.lineage is 'the Lineage rows in force: the newest version of each';
comment on column sch.lineage."table" is 'name of the module';
comment on column sch.lineage.depends_on is 'its dependencies, separated by commas';
comment on column sch.lineage.processor is 'processor by the name of the document';
comment on column sch.lineage.transforms is 'its transforms, separated by commas';
comment on column sch.lineage.delay is 'how long its newest rows wait';
comment on column sch.lineage.repeat is 'least time between two runs';
comment on column sch.lineage.maxstep is 'rows of a block';
comment on column sch.lineage.comment is 'a note of its maintainers';
comment on column sch.lineage.before is 'SQL before the transforms';
comment on column sch.lineage.after is 'SQL after the transforms';
comment on column sch.lineage."user" is 'who wrote it';
comment on column sch.lineage.updated_at is 'when it was applied';

-- What is to run, and why the rest is not: the job list of the scheduler.
create view sch.laglive as
select v.topic, v.target as "table", v.verdict as state, v.due, v.reason, v.slowest as waits_for, v.upto,
       case when v.last_pos is not null then row(v.last_pos, v.last_id)::sch.position end as last,
       extract(epoch from now() - v.watermark)::bigint as lag
from dwh.verdict v;
comment on view sch.laglive is 'the job list of the scheduler: what is to run, and why the rest is not';
comment on column sch.laglive.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column sch.laglive."table" is 'the table it fills';
comment on column sch.laglive.state is 'the verdict';
comment on column sch.laglive.due is 'true: it may be loaded now';
comment on column sch.laglive.reason is 'the verdict in a sentence';
comment on column sch.laglive.waits_for is 'the dependency that is least complete';
comment on column sch.laglive.upto is 'the horizon it may read to now';
comment on column sch.laglive.last is 'its cursor: (pos, id)';
comment on column sch.laglive.lag is 'seconds that its watermark is behind the clock';

-- What was inserted, one row per committed block. `query_id` is the execution that wrote it.
create view sch.logstore as
select t.name as topic, s.loaded_at as ts, s.rows, s.max_id, s.min_pos as min_ts, s.max_pos as max_ts,
       extract(epoch from s.loaded_at - s.min_pos)::bigint as max_lag, s.nulls, s.execution_id as query_id
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id;
comment on view sch.logstore is 'what was inserted, one row per committed block';
comment on column sch.logstore.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column sch.logstore.ts is 'when it was committed';
comment on column sch.logstore.rows is 'rows that were written';
comment on column sch.logstore.max_id is 'greatest id among the newest rows';
comment on column sch.logstore.min_ts is 'least pos of its rows';
comment on column sch.logstore.max_ts is 'greatest pos of its rows';
comment on column sch.logstore.max_lag is 'seconds from its oldest row to the commit';
comment on column sch.logstore.nulls is 'column -> how many rows lack a value';
comment on column sch.logstore.query_id is 'the execution that wrote it';

create view sch.log as select * from sch.logstore;
comment on view sch.log is 'as sch.logstore';
comment on column sch.log.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column sch.log.ts is 'when it was committed';
comment on column sch.log.rows is 'rows that were written';
comment on column sch.log.max_id is 'greatest id among the newest rows';
comment on column sch.log.min_ts is 'least pos of its rows';
comment on column sch.log.max_ts is 'greatest pos of its rows';
comment on column sch.log.max_lag is 'seconds from its oldest row to the commit';
comment on column sch.log.nulls is 'column -> how many rows lack a value';
comment on column sch.log.query_id is 'the execution that wrote it';

-- The same with the engine's figures.
create view sch.logext as
select t.name as topic, s.loaded_at as ts, s.rows, s.max_id, s.min_pos as min_ts, s.max_pos as max_ts,
       extract(epoch from s.loaded_at - s.min_pos)::bigint as max_lag, s.nulls, s.execution_id as query_id,
       s.seconds as duration, case when s.seconds > 0 then s.rows / s.seconds end as rows_per_second,
       s.memory as memory_usage, s.bytes_read as read_bytes, s.bytes as written_bytes, e.worker as hostid
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id
join dwh.execution e on e.id = s.execution_id;
comment on view sch.logext is 'what was inserted, with the figures of the engine';
comment on column sch.logext.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column sch.logext.ts is 'when it was committed';
comment on column sch.logext.rows is 'rows that were written';
comment on column sch.logext.max_id is 'greatest id among the newest rows';
comment on column sch.logext.min_ts is 'least pos of its rows';
comment on column sch.logext.max_ts is 'greatest pos of its rows';
comment on column sch.logext.max_lag is 'seconds from its oldest row to the commit';
comment on column sch.logext.nulls is 'column -> how many rows lack a value';
comment on column sch.logext.query_id is 'the execution that wrote it';
comment on column sch.logext.duration is 'seconds of the attempt';
comment on column sch.logext.rows_per_second is 'rows written a second';
comment on column sch.logext.memory_usage is 'peak memory in bytes';
comment on column sch.logext.read_bytes is 'bytes read';
comment on column sch.logext.written_bytes is 'bytes written';
comment on column sch.logext.hostid is 'the worker that did it';

-- Errors of the last day, grouped by topic and text, newest first.
create view sch.errlog as
select e.topic, e.last_at as ts, e.first_at as first_ts, e.times as count, e.text as error from dwh.errors e;
comment on view sch.errlog is 'errors of the last day, grouped by topic and text, newest first';
comment on column sch.errlog.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column sch.errlog.ts is 'last time';
comment on column sch.errlog.first_ts is 'first time';
comment on column sch.errlog.count is 'how often';
comment on column sch.errlog.error is 'text of the newest one';

comment on schema sch is 'the vocabulary of the scheduler: Offsets, Lineage, LagLive, Log and ErrLog with the names of its document';
