-- An attempt ended without a commit. No row means that the token was superseded: then the next holder has ended it already.
update dwh.execution e
set execution_code = %(execution_code)s, next_run_code = %(next_run_code)s, ended_at = clock_timestamp(), reason = %(reason)s,
    checks = %(checks)s
from dwh.topic t
where e.id = %(execution_id)s and t.id = e.topic_id and t.token = %(token)s and e.execution_code = 'Executing'
returning e.id
