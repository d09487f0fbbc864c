-- Give the first request that waits, and whose kind an online idle worker knows, to such a worker. A step of priority counts as a
-- minute of waiting: it puts a request before others, and lets none wait for ever. Who knows the fewest kinds has it: the others are
-- left to what only they know.
-- Returns the new assignment; nothing means that nothing waits or nobody is free for it. What another manager is at just now is left
-- to it, and what it has given meanwhile is in conflict with an index and left out.
with idle as materialized (
    select w.id, w.kinds, w.state_since
    from dwh.worker w
    where w.ended_at is null and w.state = 'idle' and w.seen_at > clock_timestamp() - make_interval(secs => %(online)s)
      and not exists (select from dwh.assignment a where a.worker = w.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
), waiting as materialized (
    select r.id, r.kind, r.configuration
    from dwh.request r
    where r.ended_at is null and r.cancelled_at is null
      and not exists (select from dwh.assignment a where a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
      and exists (select from idle i where i.kinds is null or r.kind = any(i.kinds))
    order by r.asked_at - r.priority * interval '1 minute', r.id
    limit 1
    for update of r skip locked
), given as (
    insert into dwh.assignment (request_id, worker)
    select r.id, i.id from waiting r join idle i on i.kinds is null or r.kind = any(i.kinds)
    order by cardinality(i.kinds), i.state_since, i.id
    limit 1
    on conflict do nothing
    returning id, request_id, worker
)
select g.id, g.worker, r.configuration from given g join waiting r on r.id = g.request_id
