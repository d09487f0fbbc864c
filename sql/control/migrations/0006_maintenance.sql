-- Maintenance: its jobs, blocks whose rows have expired, and the indexes that let old rows be deleted one by one.

-- A block whose rows were kept long enough: it still tiles, but its table holds none of its rows any more.
alter table dwh.block add column expired_at timestamptz;
create index block_expired on dwh.block (topic_id, next_pos) where expired_at is not null;

-- One job of maintenance, on one table or on the control store. Who works at it renews `lease_until`; a job whose lease ran out was
-- lost: what it staged on its branch (m and its id) is swept, and the next job begins anew.
create table dwh.maintenance (
    id            bigint generated always as identity primary key,
    task          text not null,
    table_name    text not null default '',
    worker        text not null,
    lease_until   timestamptz,
    started_at    timestamptz not null default clock_timestamp(),
    ended_at      timestamptz,
    result        text check (result in ('done', 'gave up', 'failed', 'lost')),
    figures       jsonb not null default '{}',
    text          text not null default '',
    check ((ended_at is null) = (lease_until is not null)),
    check ((ended_at is null) = (result is null))
);
create unique index one_open_maintenance on dwh.maintenance (task, table_name) where ended_at is null;
create index on dwh.maintenance (started_at);

-- Deleting an execution asks who refers to it: without these, by reading all of them.
create index execution_rolled_back_by on dwh.execution (rolled_back_by) where rolled_back_by is not null;
create index on dwh.load_stat (execution_id);
