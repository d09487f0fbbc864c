-- Attempts that loaded nothing, ended before a moment: failed, aborted and cancelled ones, but for the newest 20 of each topic and
-- those at blocks that are not done. Those that succeeded are the ledger: tables name them, so they stay.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select e.id from dwh.execution e
    where e.execution_code in ('Failed', 'Aborted', 'Cancelled') and e.ended_at < %(before)s
      and not exists (select from dwh.block b where b.id = e.block_id and b.status in ('planned', 'open', 'parked'))
      and not exists (select from dwh.load_stat s where s.execution_id = e.id)
      and not exists (select from dwh.execution x where x.rolled_back_by = e.id)
      and (select count(*) from (select from dwh.execution n where n.topic_id = e.topic_id and n.id > e.id limit 20) newer) = 20
    order by e.id limit %(limit)s
), gone as (
    delete from dwh.execution e using doomed d where e.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
