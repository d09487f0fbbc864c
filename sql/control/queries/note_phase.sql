-- What was said of a phase of an execution: that it began, ended or failed, how far it is, or its totals. Said twice, late or in another order, it
-- comes to the same: what is known stays (E4).
-- An assignment that is unknown, or another worker's, leaves nothing; an attempt that is gone is left out.
insert into dwh.phase (assignment_id, execution_id, stream, phase, worker, started_at, finished_at, failed, total_in, total_out, total_failed,
                       tasks, tasks_done)
select %(assignment_id)s::uuid, e.id, %(stream)s, %(phase)s, %(worker)s::uuid, %(started_at)s::timestamptz, %(finished_at)s::timestamptz,
       %(failed)s, %(total_in)s, %(total_out)s, %(total_failed)s, %(tasks)s, %(tasks_done)s
from (values (1)) one
left join dwh.execution e on e.id = %(execution_id)s::bigint
where %(assignment_id)s::uuid is null and e.id is not null
   or exists (select from dwh.assignment a where a.id = %(assignment_id)s::uuid and a.worker = %(worker)s::uuid)
on conflict (assignment_id, execution_id, stream, phase) do update
set started_at = coalesce(phase.started_at, excluded.started_at),
    finished_at = coalesce(phase.finished_at, excluded.finished_at),
    failed = case when phase.finished_at is null then excluded.failed else phase.failed end,
    total_in = case when phase.total_in = -1 then excluded.total_in else phase.total_in end,
    total_out = case when phase.total_out = -1 then excluded.total_out else phase.total_out end,
    total_failed = case when phase.total_failed = -1 then excluded.total_failed else phase.total_failed end,
    tasks = greatest(phase.tasks, excluded.tasks),
    tasks_done = greatest(phase.tasks_done, excluded.tasks_done)
