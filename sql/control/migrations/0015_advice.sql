-- Topics that a person holds, backfills, how late the rows of each source come, and where columns come from.

-- A paused topic is judged INACTIVE, yet it still counts for the watermark of its table: what depends on it waits, and misses nothing.
alter table dwh.topic
    add column paused         text,                  -- why; null: it is not paused
    add column paused_at      timestamptz,
    add column paused_by      text,
    add column backfill_at    timestamptz,           -- since when it is backfilled, behind the live topics; null: it is not
    add column backfill_rows  bigint,                -- base rows that were estimated then
    add constraint paused_is_whole check (num_nulls(paused, paused_at, paused_by) in (0, 3)),
    add constraint backfill_is_whole check ((backfill_at is null) = (backfill_rows is null));

-- How late the rows of a source became visible, as a histogram by day: few rows a day and source, old days are dropped.
-- `bucket` is a number in the list of dwh_assets/model/lateness.py; 0 are rows that came in order, for which no delay is needed.
create table dwh.lateness (
    source        text not null references dwh.source on delete cascade,
    day           date not null,
    unit          text not null check (unit in ('rows', 'looks')),   -- looks: the newest row, each time it was seen to have moved
    bucket        smallint not null check (bucket >= 0),
    count         bigint not null check (count > 0),
    primary key (source, day, unit, bucket)
);

-- How far each source was observed, so that nothing is counted twice. `snapshot_id` is of an Iceberg table; `changed_at` of the
-- newest row of any other.
create table dwh.lateness_seen (
    source        text primary key references dwh.source on delete cascade,
    snapshot_id   bigint,
    changed_at    timestamptz,
    passed        timestamptz,                       -- how far readers took it for complete then
    since         timestamptz not null default now() -- when the observation began
);

-- Where the columns of a module come from, as Spark analysed its transforms: one row for each text that was in force.
create table dwh.column_lineage (
    module         text not null references dwh.module on delete cascade,
    module_version integer not null,
    code_version   text not null,
    noted_at       timestamptz not null default clock_timestamp(),
    columns        jsonb not null,                   -- column -> [{table, column, kind}]
    decides        jsonb not null,                   -- [{table, column}] that rows are joined, filtered and grouped by
    problem        text,                             -- why nothing is known: Spark could not analyse it, or not be understood
    primary key (module, module_version, code_version)
);
