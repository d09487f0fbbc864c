-- What became of a run: who has it, whether its end was asked for, and how many seconds ago its worker was last seen.
select a.worker, a.ended_at, a.cancelled_at, extract(epoch from clock_timestamp() - w.seen_at)::float8 as unseen
from dwh.assignment a left join dwh.worker w on w.name = a.worker
where a.run_id = %(run_id)s
