-- Four roles and what each may do, table by table: the owner (nobody logs in as it), the worker, the steward, the viewer.
-- May be run again at any time; run it after a migration too, as new tables and views have no rights of their own.
-- Passwords are not here: they are set from the environment, by `dwh roles apply`.

do $$
declare
    role text;
begin
    -- Roles belong to the whole server: another process may make them at the same time.
    perform pg_advisory_xact_lock(hashtextextended('dwh.roles', 0));
    foreach role in array array['dwh_owner', 'dwh_worker', 'dwh_steward', 'dwh_viewer'] loop
        if not exists (select from pg_catalog.pg_roles where rolname = role) then
            execute format('create role %I', role);
        end if;
    end loop;
    if not exists (select from pg_catalog.pg_roles where rolname = 'dwh_owner' and not rolcanlogin) then
        alter role dwh_owner nologin;
    end if;
    if exists (select from pg_catalog.pg_roles where rolname in ('dwh_worker', 'dwh_steward', 'dwh_viewer') and not rolcanlogin) then
        alter role dwh_worker login;
        alter role dwh_steward login;
        alter role dwh_viewer login;
    end if;
    -- Who runs this gives rights on what the owner has, and on the tables that Dagster has made as the worker.
    foreach role in array array['dwh_owner', 'dwh_worker'] loop
        if not pg_catalog.pg_has_role(current_user, role, 'usage') then
            execute format('grant %I to %I with inherit true, set true', role, current_user);
        end if;
    end loop;
end
$$;

-- All of it belongs to the owner, and nothing is left to everybody.
do $$
declare
    thing record;
begin
    for thing in
        select format('schema %I', nspname) as name from pg_catalog.pg_namespace
        where nspname in ('dwh', 'iceberg', 'dagster', 'sch', 'kettle', 'direct', 'broker', 'ems')
        union all
        select format('%s %I.%I', case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, n.nspname, c.relname)
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('dwh', 'iceberg', 'sch', 'kettle', 'direct', 'broker', 'ems') and c.relkind in ('r', 'p', 'v')
        union all
        select format('function %s', p.oid::regprocedure) from pg_catalog.pg_proc p
        where p.pronamespace = 'dwh'::regnamespace
    loop
        execute format('alter %s owner to dwh_owner', thing.name);
    end loop;
end
$$;
revoke all on schema dwh, iceberg, dagster, sch, kettle, direct, broker, ems from public, dwh_worker, dwh_steward, dwh_viewer;
revoke all on all tables in schema dwh, iceberg, sch, kettle, direct, broker, ems from public, dwh_worker, dwh_steward, dwh_viewer;
revoke all on all functions in schema dwh from public, dwh_worker, dwh_steward, dwh_viewer;
do $$
declare
    part record;
begin
    -- To take a right from a table leaves the same right on its columns.
    for part in
        select table_schema, table_name, column_name, grantee from information_schema.column_privileges
        where table_schema = 'dwh' and privilege_type = 'UPDATE' and grantee in ('dwh_worker', 'dwh_steward', 'dwh_viewer')
    loop
        execute format('revoke update (%I) on %I.%I from %I', part.column_name, part.table_schema, part.table_name, part.grantee);
    end loop;
end
$$;

-- Everyone looks.
grant usage on schema dwh, iceberg, dagster, sch, kettle, direct, broker, ems to dwh_worker, dwh_steward, dwh_viewer;
grant select on all tables in schema dwh, iceberg, sch, kettle, direct, broker, ems to dwh_worker, dwh_steward, dwh_viewer;
grant select on all tables in schema dagster to dwh_steward, dwh_viewer;

-- The log only grows: whoever acts may add to it. Old events go by one function, which the worker runs for maintenance: a steward,
-- whose acts the log proves, may not.
grant insert on dwh.event_log to dwh_worker, dwh_steward;
grant execute on function dwh.expire_events(timestamptz, bigint) to dwh_worker;

-- What a step, a tick, a batch and maintenance write. Cursors and leases, but not what a module or a topic is.
grant insert, update, delete on dwh.block, dwh.execution, dwh.load_stat, dwh.restatement, dwh.batch_instance, dwh.worker, dwh.request,
    dwh.assignment, dwh.phase, dwh.message, dwh.message_reader, dwh.manager, dwh.alert, dwh.alert_delivery, dwh.maintenance, dwh.dead_letter,
    dwh.lateness, dwh.lateness_seen to dwh_worker;
grant insert on dwh.column_lineage to dwh_worker, dwh_steward;
grant update (last_pos, last_id, watermark, examined, token, lease_worker, lease_until, not_before, failures, problem, last_full,
    last_end, rows_per_second, next_run_code, key_fields, backfill_at, backfill_rows) on dwh.topic to dwh_worker;
grant update (watermark, newest_pos, seen_at, changed_at, problem) on dwh.source to dwh_worker;
grant update (generation, lease_token, lease_topic, lease_until) on dwh.target to dwh_worker;
grant update (next_run_code) on dwh.batch to dwh_worker;

-- A steward applies the Lineage and acts by hand: restating and rolling back load blocks, so most of the worker's rights are needed.
-- What versions and parameters were is history: it grows.
grant insert, update, delete on dwh.block, dwh.execution, dwh.load_stat, dwh.restatement, dwh.batch_instance, dwh.alert,
    dwh.alert_delivery, dwh.dead_letter to dwh_steward;
grant insert, update on dwh.worker, dwh.request, dwh.assignment, dwh.phase, dwh.maintenance, dwh.lateness to dwh_steward;
grant insert on dwh.message to dwh_steward;
grant insert, update on dwh.source, dwh.target, dwh.module, dwh.topic, dwh.batch to dwh_steward;
grant insert, update, delete on dwh.module_dependency, dwh.batch_module, dwh.batch_hierarchy, dwh.parameter to dwh_steward;
grant insert on dwh.module_version, dwh.parameter_version to dwh_steward;

-- The catalog of tables: who loads moves its pointers, who applies the Lineage makes tables. Tables are dropped by neither.
grant insert, update on iceberg.iceberg_tables, iceberg.iceberg_namespace_properties to dwh_worker, dwh_steward;

-- Dagster makes and changes its tables itself, in the worker's processes.
grant create on schema dagster to dwh_worker;
grant all on all tables in schema dagster to dwh_worker;
grant all on all sequences in schema dagster to dwh_worker;
