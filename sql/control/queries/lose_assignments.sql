-- End the assignments that nothing more will be heard of, so that their requests are given again (E6): of a worker that is gone or
-- silent; never accepted; or of a worker that says it is idle, so that the report of its end was lost.
-- Only a manager judges that has listened as long as a worker may be silent, and that has not been stopped since: one that was away
-- has missed what they said.
-- A request whose end was asked for ends with its assignment. Returns the assignments that were ended, with why.
with lost as (
    select a.id, a.request_id,
           case when w.ended_at is not null then 'its worker has ended'
                when w.seen_at < clock_timestamp() - make_interval(secs => %(silence)s)
                then format('nothing was heard of its worker for %%s s', round(extract(epoch from clock_timestamp() - w.seen_at)))
                when a.status = 'ASSIGNED' then 'expired: its worker did not accept it in time'
                else 'its worker is idle, and how it ended was not heard' end as why
    from dwh.assignment a
    join dwh.worker w on w.id = a.worker
    where a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING')
      and exists (select from dwh.manager m
                  where m.holder = %(manager)s and m.until > clock_timestamp()
                    and m.listens_since < clock_timestamp() - make_interval(secs => %(silence)s))
      and (w.ended_at is not null
           or w.seen_at < clock_timestamp() - make_interval(secs => %(silence)s)
           or a.status = 'ASSIGNED' and a.assigned_at < clock_timestamp() - make_interval(secs => %(expiry)s)
           or a.status <> 'ASSIGNED' and w.state = 'idle'
              and greatest(w.state_since, a.accepted_at) < clock_timestamp() - make_interval(secs => %(expiry)s))
    for update of a skip locked
), failed as (
    update dwh.assignment a set status = 'FAILED', finished_at = clock_timestamp(), comment = l.why
    from lost l where a.id = l.id
    returning a.id, a.request_id, a.worker, a.comment
), ended as (
    update dwh.request r set ended_at = clock_timestamp(), problem = 'cancelled'
    from failed f where r.id = f.request_id and r.cancelled_at is not null
)
select f.id, f.worker, f.comment, r.kind, r.name from failed f join dwh.request r on r.id = f.request_id
