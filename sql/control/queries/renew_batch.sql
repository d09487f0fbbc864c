-- Keep a running batch. No row means that it has ended: it was taken for lost.
update dwh.batch_instance set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(instance)s and worker = %(worker)s and execution_code = 'Executing'
returning id
