-- Make the two schemas and the ledger of applied migrations, where they are missing.
-- Version 0 is the set of views, whose checksum stands for all their files together.

create schema if not exists dwh;
create schema if not exists iceberg;
create table if not exists dwh.migration (
    version       integer primary key check (version >= 0),
    name          text not null,
    checksum      text not null,
    applied_at    timestamptz not null default clock_timestamp()
);
