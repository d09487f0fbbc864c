-- Which kinds of requests a worker carries out: one that does not know Dagster was given its runs, and failed them. Null: any.
alter table dwh.worker add column kinds text[];
