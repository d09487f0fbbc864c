-- Which Postgres this is and whether a schema of ours is in it. Returns one row, also where there is none.
select split_part(current_setting('server_version'), ' ', 1) as version,
       current_setting('server_version_num')::int / 10000 as number,
       current_setting('data_checksums')::boolean as checksums,
       to_regclass('dwh.migration') is not null as has_ledger
