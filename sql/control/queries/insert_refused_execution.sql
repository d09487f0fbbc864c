-- An attempt that was not allowed to begin (D3), or had nothing to do: it is written down with its reason and touches nothing.
insert into dwh.execution (topic_id, attempt, token, worker, module_version, execution_code, processing_code, next_run_code, reason,
                           explanation, ended_at, batch_instance_id)
select t.id, 0, %(token)s, %(worker)s, m.version, %(execution_code)s, %(processing_code)s, 'Proceed', %(reason)s, %(reason)s, clock_timestamp(),
       %(batch_instance)s
from dwh.topic t join dwh.module m on m.name = t.module
where t.id = %(topic_id)s
returning id
