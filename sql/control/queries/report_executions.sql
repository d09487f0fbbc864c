-- Every attempt at a block, in order, restatements that covered it included. Nothing where it was never begun.
select e.id, e.attempt, e.restatement_id, e.execution_code, e.processing_code, e.next_run_code, e.token, e.worker, e.started_at,
       e.ended_at, extract(epoch from e.ended_at - e.started_at)::float8 as seconds,
       e.rows_read, e.rows_inserted, e.rows_updated, e.rows_deleted, e.reason, e.branches, e.inputs, e.module_version, e.code_version
from dwh.execution e
where e.block_id = %(block_id)s
   or e.restatement_id in (select r.id from dwh.restatement r join dwh.block b
                           on b.topic_id = r.topic_id and b.seq between r.first_seq and r.last_seq
                           where b.id = %(block_id)s)
order by e.id
