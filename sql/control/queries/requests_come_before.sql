-- Is the turn of an assignment over: do more requests wait that would come before it, were it asked for again now, than workers are
-- idle? One row. Its priority counts as when requests are assigned; one that is unknown has none. What its worker could not carry
-- out does not count.
with own as (
    select w.kinds, clock_timestamp() - interval '1 minute' * coalesce(r.priority, 0) as rank
    from (select) as one
    left join dwh.assignment a on a.id = %(id)s
    left join dwh.request r on r.id = a.request_id
    left join dwh.worker w on w.id = a.worker
)
select (
    select count(*) from dwh.request r, own
    where r.ended_at is null and r.cancelled_at is null
      and r.asked_at - r.priority * interval '1 minute' < own.rank
      and (own.kinds is null or r.kind = any(own.kinds))
      and not exists (select from dwh.assignment a where a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
) > (
    select count(*) from dwh.worker w
    where w.ended_at is null and w.state = 'idle' and w.seen_at > clock_timestamp() - make_interval(secs => %(online)s)
      and not exists (select from dwh.assignment a where a.worker = w.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
) as found
