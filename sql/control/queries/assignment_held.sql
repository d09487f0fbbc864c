-- Does this worker still have its assignment, and was the end of it asked for? No row means that it was given to another.
select r.cancelled_at is not null as cancelled
from dwh.assignment a join dwh.request r on r.id = a.request_id
where a.id = %(id)s and a.worker = %(worker)s and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING')
