-- A status that a worker reported of its assignment: ACCEPTED, RUNNING, FINISHED, FAILED or REJECTED. They go forward only: a late or
-- repeated report, and one of another worker, changes nothing (E4). The request ends with its assignment, except after REJECTED.
-- Returns the request where it moved, else nothing.
with moved as (
    update dwh.assignment a
    set status = %(status)s,
        accepted_at = case when %(status)s = 'REJECTED' then null else coalesce(a.accepted_at, clock_timestamp()) end,
        started_at = case when %(status)s in ('RUNNING', 'FINISHED') then coalesce(a.started_at, clock_timestamp()) else a.started_at end,
        finished_at = case when %(status)s in ('FINISHED', 'FAILED', 'REJECTED') then clock_timestamp() end,
        comment = %(comment)s
    where a.id = %(id)s and a.worker = %(worker)s
      and case %(status)s when 'ACCEPTED' then a.status = 'ASSIGNED'
                          when 'REJECTED' then a.status = 'ASSIGNED'
                          when 'RUNNING' then a.status in ('ASSIGNED', 'ACCEPTED')
                          else a.status in ('ASSIGNED', 'ACCEPTED', 'RUNNING') end
    returning a.request_id
), ended as (
    update dwh.request r set ended_at = clock_timestamp(), problem = %(comment)s
    from moved m where r.id = m.request_id and %(status)s in ('FINISHED', 'FAILED')
)
select request_id from moved
