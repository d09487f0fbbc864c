-- Keep a job. No row means that its lease ran out and it was ended as lost.
update dwh.maintenance set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(id)s and ended_at is null
returning id
