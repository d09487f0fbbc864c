-- An attempt that was not allowed to begin (D3): it is written down with its reason and touches nothing.
insert into dwh.execution (topic_id, attempt, token, worker, module_version, execution_code, processing_code, next_run_code, reason, ended_at)
values (%(topic_id)s, 0, %(token)s, %(worker)s, %(module_version)s, %(execution_code)s, %(processing_code)s, 'Proceed', %(reason)s,
        clock_timestamp())
returning id
