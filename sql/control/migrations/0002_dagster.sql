-- What an orchestrator shows of an attempt: the results of its checks also where they kept it from committing, the run it was
-- part of, and whether its events were sent.
alter table dwh.execution
    add column checks       jsonb not null default '[]',
    add column dagster_run  text,
    add column reported_at  timestamptz;
create index execution_unreported on dwh.execution (topic_id, id)
    where reported_at is null and (execution_code = 'Succeeded' or checks <> '[]');

-- What a built table holds, as the Lineage was applied: shown where people browse tables, without asking the tables themselves.
alter table dwh.target add column columns jsonb not null default '[]';

-- Dagster keeps its runs, events and schedules here, in tables of its own making.
create schema if not exists dagster;

-- Warm processes that carry out runs, and the runs that wait for one. A worker that is not seen any more has lost its run.
create table dwh.worker (
    name          text primary key,
    started_at    timestamptz not null default clock_timestamp(),
    seen_at       timestamptz not null default clock_timestamp(),
    ended_at      timestamptz
);
create table dwh.assignment (
    run_id        text primary key,
    asked_at      timestamptz not null default clock_timestamp(),
    worker        text references dwh.worker,
    taken_at      timestamptz,
    cancelled_at  timestamptz,
    ended_at      timestamptz,
    check ((worker is null) = (taken_at is null))
);
create index assignment_waiting on dwh.assignment (asked_at) where worker is null and ended_at is null;
create unique index one_run_per_worker on dwh.assignment (worker) where worker is not null and ended_at is null;
