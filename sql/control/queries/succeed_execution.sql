-- An attempt ends well, with its row counts (D11).
update dwh.execution
set execution_code = 'Succeeded', next_run_code = 'Proceed', ended_at = clock_timestamp(),
    rows_read = %(read)s, rows_inserted = %(inserted)s, rows_updated = %(updated)s, rows_deleted = %(deleted)s,
    rows_discarded = %(discarded)s, rows_rejected = %(rejected)s
where id = %(execution_id)s and execution_code = 'Executing'
