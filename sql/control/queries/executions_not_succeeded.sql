-- Of these executions, those that did not succeed, or are unknown. No row means that all did.
select wanted.id, coalesce(e.execution_code, 'unknown') as execution_code, e.block_id, t.name as topic
from unnest(%(ids)s::bigint[]) as wanted (id)
left join dwh.execution e on e.id = wanted.id
left join dwh.topic t on t.id = e.topic_id
where e.execution_code is distinct from 'Succeeded'
