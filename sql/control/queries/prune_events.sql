-- Events before a moment, but for the one that tells why a block is parked still: its alert is made from it.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select e.id from dwh.event_log e
    where e.at < %(before)s
      and not (e.code = 'PARKED' and exists (select from dwh.block b where b.id = e.block_id and b.status = 'parked'))
    order by e.at limit %(limit)s
), gone as (
    delete from dwh.event_log e using doomed d where e.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
