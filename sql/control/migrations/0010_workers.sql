-- The bus of the workers: messages of the topics ems.heartbeat, ems.control and ems.progress, kept for a short while. What they tell
-- is kept in tables of its own; a message that was lost costs time, never data.
create table dwh.message (
    id            bigint generated always as identity primary key,   -- in the order of commits: writers take turns
    topic         text not null check (topic in ('ems.heartbeat', 'ems.control', 'ems.progress')),
    at            timestamptz not null default clock_timestamp(),
    body          text not null                                      -- JSON, or what someone took for it
);
create index on dwh.message (topic, id);
create index on dwh.message (at);

-- How far each group of readers has come.
create table dwh.message_reader (
    name          text not null,
    topic         text not null,
    last_id       bigint not null,
    primary key (name, topic)
);

-- Workers by the random id of their process, what is asked of them, and who was given it. Runs that are on the way while this
-- migration comes are asked for again by their sensors: what they had committed stays, what not is repeated.
drop table dwh.assignment;
drop table dwh.worker;
create table dwh.worker (
    id            uuid primary key,
    host          text not null default '',
    pid           integer,
    state         text not null default 'idle' check (state in ('idle', 'busy')),
    state_since   timestamptz not null default clock_timestamp(),
    started_at    timestamptz not null default clock_timestamp(),
    seen_at       timestamptz not null default clock_timestamp(),    -- when the bus took its last report
    ended_at      timestamptz                                        -- it ended in order
);

create table dwh.request (
    id            bigint generated always as identity primary key,
    kind          text not null,                                     -- whose it is: a run of Dagster, a topic of the loop
    name          text not null,
    topic         text,                                              -- what it loads, if that is known
    configuration jsonb not null default '{}',
    priority      integer not null default 0,
    asked_at      timestamptz not null default clock_timestamp(),
    cancelled_at  timestamptz,
    ended_at      timestamptz,
    problem       text                                               -- why it did not succeed
);
create unique index one_open_request on dwh.request (kind, name) where ended_at is null;
create index request_named on dwh.request (kind, name, id);
create index request_ended on dwh.request (ended_at);

-- A request given to a worker. One that is lost, refused or forgotten stays as it ended, and the request is given again.
create table dwh.assignment (
    id            uuid primary key default gen_random_uuid(),
    request_id    bigint not null references dwh.request on delete cascade,
    worker        uuid not null references dwh.worker,
    status        text not null default 'ASSIGNED'
                  check (status in ('ASSIGNED', 'ACCEPTED', 'RUNNING', 'FINISHED', 'FAILED', 'REJECTED')),
    assigned_at   timestamptz not null default clock_timestamp(),
    accepted_at   timestamptz,
    started_at    timestamptz,
    finished_at   timestamptz,
    comment       text,
    check ((status in ('ASSIGNED', 'ACCEPTED', 'RUNNING')) = (finished_at is null))
);
create unique index one_assignment_per_worker on dwh.assignment (worker) where status in ('ASSIGNED', 'ACCEPTED', 'RUNNING');
create unique index one_assignment_per_request on dwh.assignment (request_id) where status in ('ASSIGNED', 'ACCEPTED', 'RUNNING');
create index on dwh.assignment (request_id);
create index on dwh.assignment (worker);

-- Who manages: any worker may, one of them does. The lease spares work; it is not what keeps two of them from harm.
create table dwh.manager (
    only_one      boolean primary key default true check (only_one),
    holder        uuid,
    until         timestamptz,
    online_seconds  double precision,                                -- what it judges the workers by
    silence_seconds double precision
);
insert into dwh.manager default values;

-- The phases of each execution, one row per stream, with what went in, came out and failed; -1 is unknown.
create table dwh.phase (
    assignment_id uuid references dwh.assignment on delete cascade,    -- null: loaded without a worker
    execution_id  bigint references dwh.execution on delete cascade,   -- null: the worker did not say which attempt it was
    stream        text not null,
    phase         text not null check (phase in ('data-extract', 'structure-transform', 'data-transform', 'data-load')),
    worker        uuid,
    started_at    timestamptz,
    finished_at   timestamptz,
    failed        boolean not null default false,
    total_in      bigint not null default -1 check (total_in >= -1),
    total_out     bigint not null default -1 check (total_out >= -1),
    total_failed  bigint not null default -1 check (total_failed >= -1),
    check (assignment_id is not null or execution_id is not null),
    unique nulls not distinct (assignment_id, execution_id, stream, phase)
);
create index on dwh.phase (execution_id);

create schema if not exists ems;

-- Who comes first where not all can: a step counts as a minute of waiting.
alter table dwh.module add column priority integer not null default 0;
