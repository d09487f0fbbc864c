-- Every batch in force with its newest run. Returns nothing where there is none.
select b.name as batch, b.kind, b.active, b.frequency, b.timezone, b.retries, b.next_run_code, b.spec ->> 'description' as description,
       (select count(*) from dwh.batch_module l where l.batch = b.name) as modules,
       (select count(*) from dwh.batch_hierarchy h where h.parent = b.name) as batches,
       i.id as instance, i.execution_code, i.processing_code, i.started_at, i.ended_at, i.reason, i.failed
from dwh.batch b
left join lateral (select * from dwh.batch_instance where batch = b.name order by id desc limit 1) i on true
where not b.removed
order by b.name
