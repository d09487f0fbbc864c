-- Attempts and batches that run longer than is usual for them: more than 3 times the 90th percentile of their newest 50
-- successes, but at least 5 minutes, so that a topic of seconds is not called late by a hiccup; 1 hour where there is no success yet.
create view dwh.report_running_long as
select r.what, r.name, now() - r.started_at as running_for, r.usual, r.limit_at - r.started_at as allowed, r.started_at,
       r.instance, r.block, r.worker, r.lease_until, coalesce(r.lease_until < now(), true) as worker_lost
from (
    select 'topic' as what, t.name, e.started_at, h.usual, e.id as instance, e.block_id as block, e.worker, t.lease_until,
           e.started_at + case when h.usual is null then interval '1 hour' else greatest(3 * h.usual, interval '5 minutes') end as limit_at
    from dwh.execution e
    join dwh.topic t on t.id = e.topic_id
    cross join lateral (
        select percentile_cont(0.9) within group (order by p.took) as usual
        from (select s.ended_at - s.started_at as took from dwh.execution s
              where s.topic_id = e.topic_id and s.execution_code = 'Succeeded' order by s.id desc limit 50) p
    ) h
    where e.execution_code = 'Executing'
    union all
    select 'batch', i.batch, i.started_at, h.usual, i.id, null, i.worker, i.lease_until,
           i.started_at + case when h.usual is null then interval '1 hour' else greatest(3 * h.usual, interval '5 minutes') end
    from dwh.batch_instance i
    cross join lateral (
        select percentile_cont(0.9) within group (order by p.took) as usual
        from (select s.ended_at - s.started_at as took from dwh.batch_instance s
              where s.batch = i.batch and s.execution_code = 'Succeeded' order by s.id desc limit 50) p
    ) h
    where i.execution_code = 'Executing'
) r
where r.limit_at < now()
order by running_for desc;
comment on view dwh.report_running_long is 'attempts and batches that run longer than is usual for them';
comment on column dwh.report_running_long.what is 'topic or batch';
comment on column dwh.report_running_long.name is 'its name';
comment on column dwh.report_running_long.running_for is 'for how long it runs';
comment on column dwh.report_running_long.usual is 'the 90th percentile of its newest 50 successes; null: none yet';
comment on column dwh.report_running_long.allowed is 'how long it may run before it is listed';
comment on column dwh.report_running_long.started_at is 'since when it runs';
comment on column dwh.report_running_long.instance is 'number of the execution or batch instance';
comment on column dwh.report_running_long.block is 'number of its block';
comment on column dwh.report_running_long.worker is 'who runs it';
comment on column dwh.report_running_long.lease_until is 'until when its lease runs';
comment on column dwh.report_running_long.worker_lost is 'true: the lease has run out';
