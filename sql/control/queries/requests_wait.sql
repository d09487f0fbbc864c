-- Does any request wait for a worker? One row.
select exists (
    select from dwh.request r
    where r.ended_at is null and r.cancelled_at is null
      and not exists (select from dwh.assignment a where a.request_id = r.id and a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING'))
) as found
