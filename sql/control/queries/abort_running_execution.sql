-- End the attempt that a person has taken the topic away from.
update dwh.execution
set execution_code = 'Aborted', ended_at = clock_timestamp(), reason = %(reason)s
where topic_id = %(topic_id)s and execution_code = 'Executing'
