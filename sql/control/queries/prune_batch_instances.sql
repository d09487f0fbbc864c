-- Runs of batches that ended before a moment, but for the newest 20 of each batch and those that attempts or other runs name.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select i.id from dwh.batch_instance i
    where i.ended_at < %(before)s
      and not exists (select from dwh.execution e where e.batch_instance_id = i.id)
      and not exists (select from dwh.batch_instance c where c.parent_id = i.id)
      and (select count(*) from (select from dwh.batch_instance n where n.batch = i.batch and n.id > i.id limit 20) newer) = 20
    order by i.id limit %(limit)s
), gone as (
    delete from dwh.batch_instance i using doomed d where i.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
