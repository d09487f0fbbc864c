-- The newest instances of a batch, with how long they took. Returns nothing where it never ran.
select i.id as instance, i.batch, i.parent_id, i.started_by, i.worker, i.execution_code, i.processing_code, i.explanation, i.next_run_code,
       i.started_at, i.ended_at, extract(epoch from coalesce(i.ended_at, clock_timestamp()) - i.started_at)::float8 as seconds,
       i.succeeded, i.failed, i.reason, i.dagster_run
from dwh.batch_instance i
where i.batch = %(batch)s
order by i.id desc limit %(limit)s
