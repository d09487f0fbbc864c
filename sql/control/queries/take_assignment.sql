-- The run that has waited longest, for this worker. No row means that none waits; no two workers get the same.
update dwh.assignment set worker = %(worker)s, taken_at = clock_timestamp()
where run_id = (
    select run_id from dwh.assignment where worker is null and ended_at is null order by asked_at limit 1 for update skip locked
)
returning run_id
