-- Topics and batches whose newest attempt did not succeed: no success came after it, or its block still waits.
-- A failure is shown in preference to what was refused after it: an aborted or cancelled run hides no failed one (D6).
-- Each topic is looked up by the index on (topic_id, id), so that a long history costs nothing.
create view dwh.report_not_succeeded as
select 'topic' as what, t.name, e.execution_code as ended_as, e.ended_at, now() - e.ended_at as ago, e.attempts,
       e.id as instance, e.block_id as block, b.status as block_state, i.batch, split_part(e.reason, E'\n', 1) as reason
from dwh.topic t
join dwh.module m on m.name = t.module and not m.removed
cross join lateral (
    select f.*, count(*) over () as attempts
    from (
        select x.id from dwh.execution x
        where x.topic_id = t.id and x.execution_code in ('Failed', 'Aborted', 'Cancelled')
          and x.id > coalesce((select max(s.id) from dwh.execution s
                               where s.topic_id = t.id and s.execution_code = 'Succeeded'), 0)
        union
        select x.id from dwh.block u
        join dwh.execution x on x.block_id = u.id and x.execution_code = 'Failed'
        where u.topic_id = t.id and u.status in ('open', 'parked')
    ) found
    join dwh.execution f on f.id = found.id
    order by f.execution_code = 'Failed' desc, f.id desc
    limit 1
) e
left join dwh.block b on b.id = e.block_id
left join dwh.batch_instance i on i.id = e.batch_instance_id
union all
select 'batch', a.name, e.execution_code, e.ended_at, now() - e.ended_at, e.attempts, e.id, null, null, null,
       coalesce(nullif(split_part(e.reason, E'\n', 1), ''), 'failed: ' || array_to_string(e.failed, ', '))
from dwh.batch a
cross join lateral (
    select x.*, count(*) over () as attempts
    from dwh.batch_instance x
    where x.batch = a.name and x.execution_code in ('Failed', 'Aborted', 'Cancelled')
      and x.id > coalesce((select max(s.id) from dwh.batch_instance s
                           where s.batch = a.name and s.execution_code = 'Succeeded'), 0)
    order by x.execution_code = 'Failed' desc, x.id desc
    limit 1
) e
where not a.removed
order by ended_at desc;
comment on view dwh.report_not_succeeded is 'topics and batches whose newest attempt did not succeed';
comment on column dwh.report_not_succeeded.what is 'topic or batch';
comment on column dwh.report_not_succeeded.name is 'its name';
comment on column dwh.report_not_succeeded.ended_as is 'execution code of the newest attempt that did not succeed';
comment on column dwh.report_not_succeeded.ended_at is 'when that ended';
comment on column dwh.report_not_succeeded.ago is 'how long ago that is';
comment on column dwh.report_not_succeeded.attempts is 'how many have not succeeded since the last success';
comment on column dwh.report_not_succeeded.instance is 'number of the execution or batch instance';
comment on column dwh.report_not_succeeded.block is 'number of its block';
comment on column dwh.report_not_succeeded.block_state is 'state of the block now';
comment on column dwh.report_not_succeeded.batch is 'the batch that ran it';
comment on column dwh.report_not_succeeded.reason is 'first line of the reason';
