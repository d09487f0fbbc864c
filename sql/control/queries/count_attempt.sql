-- A command is tried again, on the same instance. No row means that the token was superseded.
update dwh.execution e set attempt = e.attempt + 1
from dwh.topic t where e.id = %(execution_id)s and t.id = e.topic_id and t.token = %(token)s and e.execution_code = 'Executing'
returning e.attempt
