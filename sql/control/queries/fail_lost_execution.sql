-- The worker of an execution let its lease run out: say so, and count a crash of its block.
-- No row means that nothing was left running.
with lost as (
    update dwh.execution
    set execution_code = 'Failed', next_run_code = 'Rollback', ended_at = clock_timestamp(),
        reason = 'the worker stopped renewing its lease; nothing of this attempt was published'
    where topic_id = %(topic_id)s and execution_code = 'Executing'
    returning id, block_id, worker
), counted as (
    update dwh.block b set crashes = crashes + 1 from lost where b.id = lost.block_id
    returning b.id, b.crashes
)
select lost.id, lost.block_id, lost.worker, counted.crashes from lost left join counted on counted.id = lost.block_id
