-- The vocabulary of the ETL Management Service: its tables with their names, as views to read.
-- A worker is online while it reports, unknown when it has missed a few reports, and offline when it has lost what it was given.

create view ems.etl_instances as
select w.id as instance_id, w.state, w.seen_at as last_heartbeat_at,
       case when w.ended_at is not null then 'offline'
            when w.seen_at > clock_timestamp() - make_interval(secs => coalesce(m.online_seconds, 5)) then 'online'
            when w.seen_at > clock_timestamp() - make_interval(secs => coalesce(m.silence_seconds, 30)) then 'unknown'
            else 'offline' end as status,
       w.host, w.pid, w.started_at, w.ended_at
from dwh.worker w
cross join dwh.manager m;

create view ems.etl_executions as
select a.id as etl_execution_id, a.worker as assignee, a.status, r.configuration,
       a.assigned_at, a.accepted_at, a.started_at, a.finished_at, a.comment
from dwh.assignment a
join dwh.request r on r.id = a.request_id;

create view ems.etl_phase_executions as
select p.assignment_id as etl_execution_id, p.phase, p.stream as data_stream_name, p.worker as instance_id,
       p.started_at as stream_started_at, p.finished_at as stream_finished_at,
       case when p.finished_at is null then 'started' when p.failed then 'failed' else 'finished' end as status,
       p.total_in as total_in_messages, p.total_out as total_out_messages, p.total_failed as total_failed_messages,
       p.execution_id as module_instance_id, p.tasks, p.tasks_done
from dwh.phase p;
