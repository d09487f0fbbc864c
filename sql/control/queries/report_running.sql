-- What is being loaded now: every open attempt of these topics, or of all, with the phase it is in and how far that is by Spark's count.
-- The oldest comes first. Nothing means that nothing is being loaded.
select t.name as topic, e.id as execution, e.block_id, coalesce(r.kind, 'load') as kind, e.attempt, e.worker,
       extract(epoch from clock_timestamp() - e.started_at)::float8 as seconds, b.planned_rows, p.phase, p.tasks, p.tasks_done
from dwh.execution e
join dwh.topic t on t.id = e.topic_id
left join dwh.block b on b.id = e.block_id
left join dwh.restatement r on r.id = e.restatement_id
left join lateral (
    select phase, tasks, tasks_done from dwh.phase
    where execution_id = e.id and finished_at is null
    order by started_at desc nulls last, phase limit 1
) p on true
where e.execution_code = 'Executing' and (%(topics)s::text[] is null or t.name = any (%(topics)s))
order by e.started_at, e.id
