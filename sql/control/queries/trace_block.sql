-- Where the rows that carry this block and execution come from: the range that was read, and the attempt that wrote them.
-- No row means that the ledger does not know the block. The execution is null where it is not known any more.
select b.id as block, t.name as topic, t.module, b.seq as number, b.status, m.base, b.last_pos, b.last_id, b.next_pos, b.next_id,
       b.base_rows, b.committed_at,
       e.id as execution, e.attempt, e.restatement_id as restatement, r.reason as restated_because, e.execution_code, e.worker,
       e.started_at, e.ended_at, e.code_version, e.module_version, v.place, v.changed_by, v.changed_at,
       v.spec #>> '{depends_on,0}' as base_read, e.batch_instance_id as batch_instance, i.batch, e.dagster_run, e.inputs, e.generations
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
left join dwh.execution e on e.id = %(execution)s and e.topic_id = b.topic_id
left join dwh.restatement r on r.id = e.restatement_id
left join dwh.batch_instance i on i.id = e.batch_instance_id
left join dwh.module_version v on v.module = t.module and v.version = e.module_version
where b.id = %(block)s
