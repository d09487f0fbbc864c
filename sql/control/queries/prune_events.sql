-- Events before a moment, but for the one that tells why a block is parked still: its alert is made from it.
-- Returns one row: how many were found (at most `limit`), which are removed by the one way there is unless it is a rehearsal.
select case when %(rehearsal)s
            then (select count(*) from dwh.event_log e
                  where e.at < %(before)s
                    and not (e.code = 'PARKED' and exists (select from dwh.block b where b.id = e.block_id and b.status = 'parked')))
            else dwh.expire_events(%(before)s, %(limit)s::bigint) end as found
