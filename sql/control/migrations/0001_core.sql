-- The core of the control store: sources, targets, the Lineage with its history, topics, blocks, executions, statistics, events.

create table dwh.source (
    name          text primary key,
    kind          text not null check (kind in ('iceberg', 'postgres')),
    spec          jsonb not null,
    active        boolean not null default true,
    removed       boolean not null default false,    -- its file is gone; what was known of it stays
    idle_after    interval,
    watermark     timestamptz,                       -- no more rows with pos <= watermark are expected
    newest_pos    timestamptz,                       -- greatest pos seen, never in the future
    seen_at       timestamptz,                       -- when the two above were observed
    changed_at    timestamptz,                       -- when newest_pos last moved
    problem       text                               -- why the last observation failed
);

create table dwh.target (
    name          text primary key,
    generation    bigint not null default 0,         -- raised by rollback and restatement
    lease_token   bigint,                            -- of the topic that replaces rows of this table now
    lease_topic   bigint,
    lease_until   timestamptz
);

create table dwh.module (
    name          text primary key,                  -- db.table or db.table#tag
    target        text not null references dwh.target,
    version       integer not null,
    active        boolean not null default true,
    removed       boolean not null default false,    -- its file is gone; its table and history stay
    area          text not null default '',
    processor     text not null,
    base          text not null,
    delay         interval not null,
    repeat        interval not null,
    attempts      integer not null check (attempts > 0),
    backoff       interval not null,
    window_start  time,
    window_end    time,
    timezone      text not null default 'UTC',
    spec          jsonb not null,                    -- the whole Lineage row
    check ((window_start is null) = (window_end is null))
);

create table dwh.module_version (
    module        text not null,
    version       integer not null,
    spec          jsonb,                             -- null: the file was removed
    place         text not null default '',
    changed_by    text not null,
    changed_at    timestamptz not null default now(),
    primary key (module, version)
);

create table dwh.module_dependency (
    module        text not null references dwh.module,
    ordinal       integer not null,                  -- 0 is the base table
    table_name    text not null,
    is_source     boolean not null,
    primary key (module, ordinal),
    unique (module, table_name)
);
create index on dwh.module_dependency (table_name);

create table dwh.topic (
    id            bigint generated always as identity primary key,
    name          text not null unique,              -- db.table[#tag][:shard]
    module        text not null references dwh.module,
    target        text not null,
    shard         text,
    active        boolean not null default true,
    last_pos      timestamptz,                       -- the cursor: null until initialised
    last_id       numeric(20) check (last_id between 0 and 18446744073709551615),
    watermark     timestamptz,                       -- no more rows with pos <= watermark come from this topic
    examined      timestamptz,                       -- the base was searched up to here; what was found is planned
    token         bigint not null default 0,
    lease_worker  text,
    lease_until   timestamptz,
    not_before    timestamptz,                       -- back-off after a failure
    failures      integer not null default 0,        -- failures in a row of planning
    problem       text,                              -- the newest failure; null after a success
    last_full     boolean not null default false,    -- the last block did not take all there was
    last_end      timestamptz,                       -- when the last run ended
    rows_per_second double precision,                -- of its recent blocks, to size the next ones
    check ((last_pos is null) = (last_id is null)),
    check ((lease_worker is null) = (lease_until is null)),
    check (last_pos is null or watermark is not null)
);
create index on dwh.topic (target, shard);
create index on dwh.topic (module);

-- A topic's blocks tile: each `last` is the `next` of the block before it. Block 0 is where the topic was initialised.
-- A void block (rolled back, or planned anew) is history: it takes no part in the tiling.
create table dwh.block (
    id            bigint generated always as identity primary key,
    topic_id      bigint not null references dwh.topic,
    seq           integer not null check (seq >= 0),
    last_pos      timestamptz,
    last_id       numeric(20),
    next_pos      timestamptz not null,
    next_id       numeric(20) not null check (next_id between 0 and 18446744073709551615),
    kind          text not null check (kind in ('start', 'load', 'skip')),
    status        text not null check (status in ('planned', 'open', 'parked', 'committed', 'skipped', 'stale', 'void')),
    upto          timestamptz not null,              -- the horizon it was planned below
    takes_all     boolean not null,                  -- nothing was left between next and upto
    planned_rows  bigint,
    base_rows     bigint,
    hash_sum      numeric(20),
    failures      integer not null default 0,        -- attempts that ended Failed
    crashes       integer not null default 0,        -- attempts whose worker was lost
    waived        text[] not null default '{}',      -- checks that a person released
    late_rows     bigint not null default 0,         -- base rows that appeared in its range after it was read
    planned_at    timestamptz not null default now(),
    committed_at  timestamptz,
    tile          bigint generated always as (case when status = 'void' then -id else topic_id end) stored,
    tile_from     bigint generated always as (case when status = 'void' then null else topic_id end) stored,
    unique (tile, next_pos, next_id),
    unique (tile, seq),
    foreign key (tile_from, last_pos, last_id) references dwh.block (tile, next_pos, next_id) deferrable initially deferred,
    check (kind = 'start' or (last_pos, last_id) < (next_pos, next_id)),
    check ((kind = 'start') = (last_pos is null)),
    check ((kind = 'start') = (seq = 0))
);
create index block_unfinished on dwh.block (topic_id, seq) where status in ('planned', 'open', 'parked');
create index block_stale on dwh.block (topic_id, seq) where status = 'stale';
create index block_range on dwh.block (topic_id, next_pos, next_id) where status <> 'void';
create index block_late on dwh.block (topic_id) where late_rows > 0;
create unique index one_open_block on dwh.block (topic_id) where status in ('open', 'parked');

create table dwh.restatement (
    id            bigint generated always as identity primary key,
    topic_id      bigint not null references dwh.topic,
    kind          text not null check (kind in ('restate', 'rollback')),
    first_seq     integer not null,
    last_seq      integer not null,
    status        text not null check (status in ('open', 'committed', 'failed')),
    reason        text not null,
    asked_by      text not null,
    attempts      integer not null default 0,
    asked_at      timestamptz not null default now(),
    ended_at      timestamptz,
    check (first_seq between 1 and last_seq)
);
create unique index one_open_restatement on dwh.restatement (topic_id) where status = 'open';

create table dwh.execution (
    id              bigint generated always as identity primary key,
    topic_id        bigint not null references dwh.topic,
    block_id        bigint references dwh.block,
    restatement_id  bigint references dwh.restatement,
    attempt         integer not null,
    token           bigint not null,
    worker          text not null,
    module_version  integer not null,
    code_version    text not null default '',
    branches        jsonb not null default '{}',      -- output table -> {branch, fork}
    inputs          jsonb not null default '{}',      -- input table -> snapshot read
    generations     jsonb not null default '{}',      -- input table -> generation at the claim
    execution_code  text not null check (execution_code in ('Executing', 'Succeeded', 'Failed', 'Aborted', 'Cancelled')),
    processing_code text not null check (processing_code in ('Abort', 'Proceed', 'Cancel', 'Rollback')),
    next_run_code   text not null check (next_run_code in ('Proceed', 'Rollback', 'Cancel')),
    rows_read       bigint not null default 0,
    rows_inserted   bigint not null default 0,
    rows_updated    bigint not null default 0,
    rows_deleted    bigint not null default 0,
    rows_discarded  bigint not null default 0,
    rows_rejected   bigint not null default 0,
    reason          text not null default '',
    started_at      timestamptz not null default clock_timestamp(),
    ended_at        timestamptz,
    check ((execution_code = 'Executing') = (ended_at is null))
);
create unique index one_open_execution on dwh.execution (topic_id) where execution_code = 'Executing';
create index on dwh.execution (block_id);
create index on dwh.execution (started_at);
create index on dwh.execution (topic_id, id);

create table dwh.load_stat (
    block_id      bigint primary key references dwh.block,   -- one row a block: a retried block is counted once
    topic_id      bigint not null references dwh.topic,
    execution_id  bigint not null references dwh.execution,
    loaded_at     timestamptz not null default clock_timestamp(),
    rows          bigint not null,
    bytes         bigint not null default 0,
    bytes_read    bigint not null default 0,
    max_id        numeric(20),
    min_pos       timestamptz,
    max_pos       timestamptz,
    lag           interval,
    seconds       double precision not null,
    memory        bigint,
    nulls         jsonb not null default '{}',
    measures      jsonb not null default '{}',
    expects       jsonb not null default '{}',
    checks        jsonb not null default '[]'
);
create index on dwh.load_stat (topic_id, loaded_at);

create table dwh.event_log (
    id            bigint generated always as identity primary key,
    at            timestamptz not null default clock_timestamp(),
    kind          text not null check (kind in ('process', 'act', 'information')),
    code          text not null,
    topic         text,
    block_id      bigint,
    execution_id  bigint,
    who           text not null,
    text          text not null
);
create index on dwh.event_log (at);
create index on dwh.event_log (topic, at);

-- The Iceberg catalog, in the layout that both the Java JDBC catalog (schema V1) and pyiceberg's SQL catalog use.
create table iceberg.iceberg_tables (
    catalog_name               varchar(255) not null,
    table_namespace            varchar(255) not null,
    table_name                 varchar(255) not null,
    metadata_location          varchar(1000),
    previous_metadata_location varchar(1000),
    iceberg_type               varchar(5),
    primary key (catalog_name, table_namespace, table_name)
);
create table iceberg.iceberg_namespace_properties (
    catalog_name   varchar(255) not null,
    namespace      varchar(255) not null,
    property_key   varchar(255) not null,
    property_value varchar(1000),
    primary key (catalog_name, namespace, property_key)
);
