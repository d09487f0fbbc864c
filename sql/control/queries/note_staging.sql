-- Write down the branches an attempt is about to write to and the snapshots it reads. No row: the token was superseded.
update dwh.execution e
set branches = %(branches)s, inputs = %(inputs)s
from dwh.topic t
where e.id = %(execution_id)s and t.id = e.topic_id and t.token = %(token)s and e.execution_code = 'Executing'
returning e.id
