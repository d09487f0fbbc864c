-- One attempt as an orchestrator shows it. No row means that it was reported meanwhile, or did not get so far.
select e.id, e.topic_id, t.name as topic, t.shard, t.module, e.execution_code, e.code_version, e.checks, e.attempt, e.worker,
       e.started_at, e.ended_at, e.reason, e.block_id
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where e.id = %(execution_id)s and e.reported_at is null and (e.execution_code = 'Succeeded' or e.checks <> '[]')
