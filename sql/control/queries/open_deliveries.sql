-- Every target is told of every alert that is open or of the last day: one row each. A target that is new learns no old story.
-- Returns the clock that quiet hours are held against: that of the database, so that all processes keep the same hours.
with opened as (
    insert into dwh.alert_delivery (alert_id, target)
    select a.id, t.target
    from dwh.alert a
    cross join unnest(%(targets)s::text[]) as t (target)
    where (a.resolved_at is null or a.raised_at > now() - interval '1 day')
      and not exists (select from dwh.alert_delivery d where d.alert_id = a.id and d.target = t.target)
    order by a.id, t.target
    on conflict do nothing
)
select now() as now
