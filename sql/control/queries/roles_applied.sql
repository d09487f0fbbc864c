-- Whether this database's rights are given by roles: its schema belongs to their owner.
-- Always returns one row.
select exists (
    select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
    where n.nspname = 'dwh' and r.rolname = 'dwh_owner'
) as applied
