-- Events from outside: what a block of them is made of, and what it could not load.

alter table dwh.source drop constraint source_kind_check;
alter table dwh.source add check (kind in ('iceberg', 'postgres', 'kafka', 'files'));

alter table dwh.block add column contents jsonb;       -- of an ingest: offsets by partition, files, dead letters tried again
alter table dwh.topic add column key_fields text[];    -- of an ingest: the fields that the ids in its table were made of

-- The rows themselves are in the table <stage table>_dead, published by the same commit.
create table dwh.dead_letter (
    block_id      bigint not null references dwh.block on delete cascade,
    reason        text not null,
    rows          bigint not null check (rows > 0),
    replayed_by   bigint references dwh.block on delete set null,    -- the block that tried them again; null: they still wait
    primary key (block_id, reason)
);
create index on dwh.dead_letter (replayed_by) where replayed_by is not null;
create index dead_letter_waiting on dwh.dead_letter (block_id) where replayed_by is null;
create index block_with_contents on dwh.block (topic_id, next_pos, next_id) where contents is not null and status <> 'void';

create schema if not exists broker;
