-- Jobs of maintenance that ended before a moment.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select j.id from dwh.maintenance j where j.started_at < %(before)s and j.ended_at < %(before)s order by j.id limit %(limit)s
), gone as (
    delete from dwh.maintenance j using doomed d where j.id = d.id and not %(rehearsal)s
)
select count(*) as found from doomed
