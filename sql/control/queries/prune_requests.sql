-- Requests that ended before a moment, with whom they were given to.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select r.id from dwh.request r where r.ended_at < %(before)s order by r.id limit %(limit)s
), gone as (
    delete from dwh.request r using doomed d where r.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
