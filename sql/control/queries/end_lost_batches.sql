-- End the batch instances whose process let its lease run out, of one batch or of all. Returns them; nothing where none was lost.
update dwh.batch_instance
set execution_code = 'Failed', ended_at = clock_timestamp(), lease_until = null,
    reason = 'the process that ran it was lost; what had been loaded by then stays, the next run goes on with the rest'
where execution_code = 'Executing' and lease_until < clock_timestamp() and (%(batch)s::text is null or batch = %(batch)s)
returning id, batch, worker
