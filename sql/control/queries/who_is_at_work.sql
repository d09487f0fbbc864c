-- Who uses the warehouse of this database now: topics that are being loaded, and the connections of others. No row: nobody.
select format('topic %s is held by %s', name, lease_worker) as name from dwh.topic where lease_until > clock_timestamp()
union all
select format('%s of %s is connected', coalesce(nullif(application_name, ''), 'a program'), usename)
from pg_catalog.pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
