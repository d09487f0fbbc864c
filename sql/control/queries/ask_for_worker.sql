-- A run waits for a worker; all of them are told. A run that was asked for before is left as it is.
with asked as (
    insert into dwh.assignment (run_id) values (%(run_id)s) on conflict (run_id) do nothing returning run_id
)
select pg_notify('dwh_assignment', run_id) from asked
