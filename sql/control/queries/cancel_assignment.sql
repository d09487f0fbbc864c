-- Ask for the end of a run. `waiting` runs end at once; no row means that it is over already or was never asked for.
update dwh.assignment
set cancelled_at = clock_timestamp(), ended_at = case when worker is null then clock_timestamp() end
where run_id = %(run_id)s and ended_at is null
returning worker is null as waiting
