-- The run is over, or will not begin.
update dwh.assignment set ended_at = clock_timestamp() where run_id = %(run_id)s and ended_at is null
