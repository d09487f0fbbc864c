-- Alerts that were over before a moment, with their deliveries. Those that are open stay, and those of blocks that are parked still:
-- they would be raised again.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select a.id from dwh.alert a
    where a.resolved_at < %(before)s
      and not exists (select from dwh.block b where b.id = a.block_id and b.status = 'parked')
    order by a.id limit %(limit)s
), gone as (
    delete from dwh.alert a using doomed d where a.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
