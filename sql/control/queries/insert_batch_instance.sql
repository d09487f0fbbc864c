-- Begin a run of a batch, or write down that it was not allowed to begin. Returns its id.
insert into dwh.batch_instance (batch, parent_id, started_by, worker, lease_until, execution_code, processing_code, next_run_code,
                                succeeded, explanation, reason, dagster_run, ended_at)
values (%(batch)s, %(parent)s, %(started_by)s, %(worker)s,
        case when %(execution_code)s = 'Executing' then clock_timestamp() + make_interval(secs => %(lease)s) end,
        %(execution_code)s, %(processing_code)s, 'Proceed', %(succeeded)s, %(reason)s, %(reason)s, %(dagster_run)s,
        case when %(execution_code)s <> 'Executing' then clock_timestamp() end)
returning id
