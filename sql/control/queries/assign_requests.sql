-- Give what waits to workers that are online and idle, one each. A step of priority counts as a minute of waiting: it puts a request
-- before others, and lets none wait for ever.
-- Returns the new assignments; nothing means that nothing waits or nobody is free. What another manager is at just now is left to
-- it, and what it has given meanwhile is in conflict with an index and left out.
with waiting as materialized (
    select r.id, r.configuration, r.asked_at - r.priority * interval '1 minute' as rank
    from dwh.request r
    where r.ended_at is null and r.cancelled_at is null
      and not exists (select from dwh.assignment a where a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
    order by rank, r.id
    limit 100
    for update skip locked
), idle as materialized (
    select w.id, w.state_since
    from dwh.worker w
    where w.ended_at is null and w.state = 'idle' and w.seen_at > clock_timestamp() - make_interval(secs => %(online)s)
      and not exists (select from dwh.assignment a where a.worker = w.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
    order by w.state_since
    limit 100
), pair as (
    select r.id as request_id, w.id as worker
    from (select id, row_number() over (order by rank, id) as n from waiting) r
    join (select id, row_number() over (order by state_since, id) as n from idle) w on w.n = r.n
), given as (
    insert into dwh.assignment (request_id, worker) select request_id, worker from pair
    on conflict do nothing
    returning id, request_id, worker
)
select g.id, g.worker, r.configuration from given g join waiting r on r.id = g.request_id
