-- End the executions of commands whose process let its lease run out. Returns them; nothing where none was lost.
with lost as (
    update dwh.topic t set lease_worker = null, lease_until = null, token = token + 1
    from dwh.module m where m.name = t.module and m.kind <> 'table' and t.lease_until < clock_timestamp()
    returning t.id, t.name
)
update dwh.execution e
set execution_code = 'Failed', next_run_code = 'Rollback', ended_at = clock_timestamp(),
    reason = 'the process that ran it was lost'
from lost where e.topic_id = lost.id and e.execution_code = 'Executing'
returning e.id, lost.name as topic, e.worker
