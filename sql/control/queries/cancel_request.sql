-- Ask for the end of a request. One that waits ends at once; the worker of one that was given is to be told.
-- Returns the assignment and its worker, both null where it waited; no row means that it is over already or was never asked for.
with wanted as (
    select r.id, a.id as assignment, a.worker
    from dwh.request r
    left join dwh.assignment a on a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING')
    where r.kind = %(kind)s and r.name = %(name)s and r.ended_at is null
    for update of r
)
update dwh.request r
set cancelled_at = coalesce(r.cancelled_at, clock_timestamp()),
    ended_at = case when w.assignment is null then clock_timestamp() end,
    problem = case when w.assignment is null then 'cancelled' end
from wanted w where r.id = w.id
returning w.assignment, w.worker
