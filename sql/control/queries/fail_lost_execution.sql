-- The worker of an execution let its lease run out: say so, and count a crash of its block, or of its restatement.
-- No row means that nothing was left running.
with lost as (
    update dwh.execution
    set execution_code = 'Failed', next_run_code = 'Rollback', ended_at = clock_timestamp(),
        reason = 'the worker stopped renewing its lease; nothing of this attempt was published'
    where topic_id = %(topic_id)s and execution_code = 'Executing'
    returning id, block_id, restatement_id, worker
), counted as (
    update dwh.block b set crashes = crashes + 1 from lost where b.id = lost.block_id
    returning b.id, b.crashes
), restated as (
    update dwh.restatement r set crashes = crashes + 1 from lost where r.id = lost.restatement_id
    returning r.id, r.crashes
)
select lost.id, lost.block_id, lost.restatement_id, lost.worker, counted.crashes, restated.crashes as restatement_crashes
from lost left join counted on counted.id = lost.block_id left join restated on restated.id = lost.restatement_id
