-- Free the topics that lost workers hold, at once instead of when their leases run out (E6). The token rises, so that a worker that
-- wakes up can neither renew nor commit. A lease names host, process and the beginning of the worker's id.
-- Returns the topics; nothing where none was held. One that is locked just now is left to its lease: a manager that waited for the
-- transaction of a stopped worker would give nothing to anyone.
with held as (
    select t.id
    from dwh.topic t join dwh.worker w on t.lease_worker = format('%%s-%%s-%%s', w.host, w.pid, left(w.id::text, 6))
    where w.id = any (%(workers)s::uuid[])
    for update of t skip locked
), freed as (
    update dwh.topic t set token = t.token + 1, lease_worker = null, lease_until = null
    from held where t.id = held.id
    returning t.id, t.name
), tables as (
    update dwh.target g set lease_topic = null, lease_token = null, lease_until = null
    from freed where g.lease_topic = freed.id
)
select id, name from freed
