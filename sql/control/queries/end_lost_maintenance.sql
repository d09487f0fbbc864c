-- Jobs whose worker stopped renewing are over. Returns nothing.
update dwh.maintenance
set ended_at = clock_timestamp(), lease_until = null, result = 'lost', text = 'the worker was lost; nothing of this job was published'
where ended_at is null and lease_until < clock_timestamp()
