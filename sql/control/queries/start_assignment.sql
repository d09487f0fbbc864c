-- May this worker begin? One that is late may not: its assignment is another's by now, or its end was asked for.
-- Returns one row if it may; no row means that it must leave it alone.
update dwh.assignment a set status = 'RUNNING', started_at = clock_timestamp(), accepted_at = coalesce(a.accepted_at, clock_timestamp())
from dwh.request r
where a.id = %(id)s and a.worker = %(worker)s and a.status in ('ASSIGNED', 'ACCEPTED')
  and r.id = a.request_id and r.cancelled_at is null and r.ended_at is null
returning a.id
