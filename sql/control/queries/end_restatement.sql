-- A restatement or rollback is done.
update dwh.restatement set status = 'committed', ended_at = clock_timestamp() where id = %(id)s
