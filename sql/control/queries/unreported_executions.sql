-- Attempts that committed, or that a check stopped, some time ago and that no orchestrator was told of; the oldest first.
select e.id, e.topic_id, t.name as topic, t.module
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where e.reported_at is null and (e.execution_code = 'Succeeded' or e.checks <> '[]')
  and e.ended_at < clock_timestamp() - make_interval(secs => %(age)s)
order by e.topic_id, e.id
limit %(limit)s
