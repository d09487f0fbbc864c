-- A run of a batch has ended: Failed where one of its parts has. No row means that it was taken for lost and ended before.
update dwh.batch_instance
set execution_code = case when failed = '{}' then 'Succeeded' else 'Failed' end, ended_at = clock_timestamp(), lease_until = null,
    reason = %(reason)s
where id = %(instance)s and execution_code = 'Executing'
returning execution_code
