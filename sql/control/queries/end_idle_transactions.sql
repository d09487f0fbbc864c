-- End every transaction that a stopped process sits in, as its time limit would. For chaos and tests only.
-- Returns a row for each.
select pg_terminate_backend(pid, 5000)
from pg_stat_activity
where datname = current_database() and state in ('idle in transaction', 'idle in transaction (aborted)')
  and pid <> pg_backend_pid()
