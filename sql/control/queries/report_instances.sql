-- The newest executions of a topic as instances, with their three codes. Returns nothing where it never ran.
select e.id as instance, t.name as topic, e.batch_instance_id, e.attempt, e.execution_code, e.processing_code, e.explanation, e.next_run_code,
       e.rows_inserted + e.rows_updated as rows, e.started_at, e.ended_at, e.rolled_back_by, e.reason
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where t.name = %(topic)s
order by e.id desc limit %(limit)s
