-- Programs that are connected to this database beside the one that asks. No row: none is.
select format('%s of %s is connected', coalesce(nullif(application_name, ''), 'a program'), usename) as name
from pg_catalog.pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
