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
