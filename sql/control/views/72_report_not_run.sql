-- Active topics and batches that did not run for long: for 3 times their `repeat`, but at least a day; a batch with a frequency for
-- 3 times its usual pause (the median of its newest 20), but at least a day. What was refused did not run.
-- `last_run` is null for what never ran. The verdict says whether it waits for data or for a person; `dwh why` says the rest.
create view dwh.report_not_run as
select 'topic' as what, t.name, e.started_at as last_run, now() - coalesce(e.started_at, b.planned_at) as ago,
       greatest(3 * m.repeat, interval '1 day') as allowed, v.verdict
from dwh.topic t
join dwh.module m on m.name = t.module and m.active and not m.removed
join dwh.verdict v on v.topic_id = t.id
left join dwh.block b on b.tile = t.id and b.seq = 0
left join lateral (
    select x.started_at from dwh.execution x
    where x.topic_id = t.id and x.execution_code not in ('Aborted', 'Cancelled')
    order by x.id desc limit 1
) e on true
where t.active and coalesce(e.started_at, b.planned_at, '-infinity') < now() - greatest(3 * m.repeat, interval '1 day')
union all
select 'batch', a.name, p.last_run, now() - p.last_run, p.allowed, null
from dwh.batch a
cross join lateral (
    select max(g.started_at) as last_run,
           greatest(3 * percentile_cont(0.5) within group (order by g.pause), interval '1 day') as allowed
    from (
        select x.started_at, x.started_at - lead(x.started_at) over (order by x.id desc) as pause
        from dwh.batch_instance x
        where x.batch = a.name and x.execution_code not in ('Aborted', 'Cancelled')
        order by x.id desc limit 20
    ) g
) p
where a.active and not a.removed and a.frequency is not null and coalesce(p.last_run, '-infinity') < now() - p.allowed
order by ago desc nulls first;
comment on view dwh.report_not_run is 'active topics and batches that did not run for long';
comment on column dwh.report_not_run.what is 'topic or batch';
comment on column dwh.report_not_run.name is 'its name';
comment on column dwh.report_not_run.last_run is 'when it last began; null: never';
comment on column dwh.report_not_run.ago is 'how long ago that is';
comment on column dwh.report_not_run.allowed is 'how long it may rest before it is listed';
comment on column dwh.report_not_run.verdict is 'why it is not due; null for a batch';
