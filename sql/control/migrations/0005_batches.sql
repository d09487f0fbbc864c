-- Batches: groups of modules that are run as a job, their instances, and what a person asked of the next run. Parameters.

create table dwh.batch (
    name          text primary key,                  -- never holds a dot, so it is never the name of a module
    kind          text not null check (kind in ('STANDARD', 'MAINTENANCE')),
    active        boolean not null default true,
    removed       boolean not null default false,    -- its file is gone; its instances stay
    retries       integer not null check (retries > 0),              -- attempts in all at a module
    frequency     text,                              -- a cron expression; null: only when it is asked for
    timezone      text not null default 'UTC',
    window_start  time,
    window_end    time,
    next_run_code text not null default 'Proceed' check (next_run_code in ('Proceed', 'Rollback', 'Cancel')),
    spec          jsonb not null,                    -- the whole file
    check ((window_start is null) = (window_end is null))
);

create table dwh.batch_module (
    batch         text not null references dwh.batch,
    module        text not null references dwh.module,
    sequence      integer not null,
    active        boolean not null default true,
    primary key (batch, module),
    unique (batch, sequence)
);
create index on dwh.batch_module (module);

create table dwh.batch_hierarchy (
    parent        text not null references dwh.batch,
    child         text not null references dwh.batch,
    sequence      integer not null,
    active        boolean not null default true,
    primary key (parent, child),
    unique (parent, sequence),
    check (parent <> child)
);

-- One run of a batch. Who runs it renews `lease_until`; an instance whose lease ran out was lost, and the next run says so.
create table dwh.batch_instance (
    id              bigint generated always as identity primary key,
    batch           text not null references dwh.batch,
    parent_id       bigint references dwh.batch_instance,
    started_by      text not null,                   -- hand, schedule, the batch it is part of, or the one it came after
    worker          text not null,
    lease_until     timestamptz,
    execution_code  text not null check (execution_code in ('Executing', 'Succeeded', 'Failed', 'Aborted', 'Cancelled')),
    processing_code text not null check (processing_code in ('Abort', 'Proceed', 'Cancel', 'Rollback')),
    next_run_code   text not null check (next_run_code in ('Proceed', 'Rollback', 'Cancel')),
    succeeded       text[] not null default '{}',    -- modules and batches in it that succeeded, now or in the run it makes good
    failed          text[] not null default '{}',    -- modules and batches in it that failed
    explanation     text not null default '',        -- of its processing code
    reason          text not null default '',        -- what came of it
    dagster_run     text,
    started_at      timestamptz not null default clock_timestamp(),
    ended_at        timestamptz,
    check ((execution_code = 'Executing') = (ended_at is null)),
    check ((execution_code = 'Executing') = (lease_until is not null))
);
create unique index one_open_batch_instance on dwh.batch_instance (batch) where execution_code = 'Executing';
create index on dwh.batch_instance (batch, id);
create index on dwh.batch_instance (parent_id);
create index on dwh.batch_instance (started_at);

-- A module may be a command instead of a table: it has a topic, which is its lease and its history, but no cursor and no target.
alter table dwh.module add column kind text not null default 'table' check (kind in ('table', 'command', 'python')),
    alter column target drop not null,
    add check ((kind = 'table') = (target is not null));
alter table dwh.topic alter column target drop not null;

-- An attempt may be part of a batch; a failed one is rolled back by the next attempt of its topic, which is named here.
alter table dwh.execution
    add column batch_instance_id bigint references dwh.batch_instance,
    add column explanation       text not null default '',   -- of its processing code
    add column rolled_back_by    bigint references dwh.execution;
create index execution_of_batch on dwh.execution (batch_instance_id) where batch_instance_id is not null;
create index execution_to_roll_back on dwh.execution (topic_id, id) where execution_code = 'Failed' and rolled_back_by is null;
update dwh.execution e set rolled_back_by = later.id
from dwh.execution later
where e.execution_code = 'Failed' and later.id = (
    select min(l.id) from dwh.execution l where l.topic_id = e.topic_id and l.id > e.id and l.execution_code = 'Succeeded');

-- What a person asked of the topic's next run; the run that takes notice sets it back.
alter table dwh.topic add column next_run_code text not null default 'Proceed'
    check (next_run_code in ('Proceed', 'Rollback', 'Cancel'));

alter table dwh.target add column allow_truncate boolean not null default false;
alter table dwh.event_log add column batch_instance_id bigint;

-- A parameter holds for all, for a batch, or for a module; the narrowest one counts.
create table dwh.parameter (
    name          text not null,
    batch         text references dwh.batch,
    module        text references dwh.module,
    type          text not null check (type in ('text', 'integer', 'number', 'boolean', 'date', 'timestamp')),
    value         text not null,
    description   text not null default '',
    check (batch is null or module is null),
    unique nulls not distinct (name, batch, module)
);
