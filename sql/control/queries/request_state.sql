-- What became of the newest request of a name: whether it is over, who has it, how many seconds ago its worker was last seen.
-- No row means that it was never asked for.
select r.ended_at, r.cancelled_at, r.problem, a.worker, extract(epoch from clock_timestamp() - w.seen_at)::float8 as unseen
from dwh.request r
left join dwh.assignment a on a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING')
left join dwh.worker w on w.id = a.worker
where r.kind = %(kind)s and r.name = %(name)s
order by r.id desc limit 1
