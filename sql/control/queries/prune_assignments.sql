-- Runs that a worker ended before a moment.
-- Returns one row: how many were found (at most `limit`), which are deleted unless it is a rehearsal.
with doomed as (
    select a.run_id from dwh.assignment a where a.ended_at < %(before)s order by a.run_id limit %(limit)s
), gone as (
    delete from dwh.assignment a using doomed d where a.run_id = d.run_id and not %(rehearsal)s
)
select count(*) as found from doomed
