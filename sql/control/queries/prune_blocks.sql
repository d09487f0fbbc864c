-- Void blocks that were never committed, planned before a moment, without attempts. Those that were committed once stay: the keys of
-- the blocks that took their numbers count them.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select b.id from dwh.block b
    where b.status = 'void' and b.committed_at is null and b.planned_at < %(before)s
      and not exists (select from dwh.execution e where e.block_id = b.id)
      and not exists (select from dwh.load_stat s where s.block_id = b.id)
    order by b.id limit %(limit)s
), gone as (
    delete from dwh.block b using doomed d where b.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
