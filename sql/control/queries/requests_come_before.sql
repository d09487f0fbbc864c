-- Is the turn of an assignment over: do more requests wait that would come before it, were it asked for again now, than workers are
-- idle? One row. Its priority counts as when requests are assigned; one that is unknown has none.
with own as (
    select clock_timestamp() - interval '1 minute' * coalesce((
        select r.priority from dwh.assignment a join dwh.request r on r.id = a.request_id where a.id = %(id)s
    ), 0) as rank
)
select (
    select count(*) from dwh.request r
    where r.ended_at is null and r.cancelled_at is null
      and r.asked_at - r.priority * interval '1 minute' < (select rank from own)
      and not exists (select from dwh.assignment a where a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
) > (
    select count(*) from dwh.worker w
    where w.ended_at is null and w.state = 'idle' and w.seen_at > clock_timestamp() - make_interval(secs => %(online)s)
      and not exists (select from dwh.assignment a where a.worker = w.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
) as found
