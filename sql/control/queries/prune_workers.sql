-- Workers that were last seen before a moment and were given nothing that is kept.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select w.id from dwh.worker w
    where w.seen_at < %(before)s and not exists (select from dwh.assignment a where a.worker = w.id)
    order by w.id limit %(limit)s
), gone as (
    delete from dwh.worker w using doomed d where w.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
