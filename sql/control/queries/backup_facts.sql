-- What the manifest of a backup tells, and the name by which pg_dump sees the same moment. One row.
select pg_catalog.pg_export_snapshot() as snapshot, now() as now,
       (select array_agg(nspname::text order by nspname) from pg_catalog.pg_namespace where nspname = any(%(schemas)s)) as schemas,
       (select array_agg(name order by version) from dwh.migration where version > 0) as migrations,
       (select count(*) from dwh.block where kind = 'load' and status in ('committed', 'stale')) as blocks
