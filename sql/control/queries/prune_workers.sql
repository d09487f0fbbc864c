-- Workers that were last seen before a moment and have no run in the list.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select w.name from dwh.worker w
    where w.seen_at < %(before)s and not exists (select from dwh.assignment a where a.worker = w.name)
    order by w.name limit %(limit)s
), gone as (
    delete from dwh.worker w using doomed d where w.name = d.name and not %(rehearsal)s
)
select count(*) as found from doomed
