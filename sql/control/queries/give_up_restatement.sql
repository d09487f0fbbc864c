-- What was asked of a topic before is overtaken by an act that looks at all of it.
update dwh.restatement set status = 'failed', ended_at = clock_timestamp() where topic_id = %(topic_id)s and status = 'open'
