-- The events of an attempt were sent.
update dwh.execution set reported_at = clock_timestamp(), dagster_run = coalesce(%(run)s, dagster_run) where id = %(execution_id)s
