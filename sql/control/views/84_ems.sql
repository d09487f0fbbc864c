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
comment on view ems.etl_instances is 'the workers';
comment on column ems.etl_instances.instance_id is 'id of the worker';
comment on column ems.etl_instances.state is 'idle or busy, as it last said';
comment on column ems.etl_instances.last_heartbeat_at is 'when it was last heard of';
comment on column ems.etl_instances.status is 'online, unknown: it has missed a few reports, or offline: it has lost what it was given';
comment on column ems.etl_instances.host is 'its machine';
comment on column ems.etl_instances.pid is 'its process';
comment on column ems.etl_instances.started_at is 'when it began';
comment on column ems.etl_instances.ended_at is 'when it ended; null: it has not said so';

create view ems.etl_executions as
select a.id as etl_execution_id, a.worker as assignee, a.status, r.configuration,
       a.assigned_at, a.accepted_at, a.started_at, a.finished_at, a.comment
from dwh.assignment a
join dwh.request r on r.id = a.request_id;
comment on view ems.etl_executions is 'what workers were given to do';
comment on column ems.etl_executions.etl_execution_id is 'id of the assignment';
comment on column ems.etl_executions.assignee is 'the worker';
comment on column ems.etl_executions.status is 'ASSIGNED, ACCEPTED, RUNNING, FINISHED, FAILED or REJECTED';
comment on column ems.etl_executions.configuration is 'what is to be done';
comment on column ems.etl_executions.assigned_at is 'when it was given';
comment on column ems.etl_executions.accepted_at is 'when the worker took it';
comment on column ems.etl_executions.started_at is 'when it began';
comment on column ems.etl_executions.finished_at is 'when it ended';
comment on column ems.etl_executions.comment is 'why it failed or was taken back';

create view ems.etl_phase_executions as
select p.assignment_id as etl_execution_id, p.phase, p.stream as data_stream_name, p.worker as instance_id,
       p.started_at as stream_started_at, p.finished_at as stream_finished_at,
       case when p.finished_at is null then 'started' when p.failed then 'failed' else 'finished' end as status,
       p.total_in as total_in_messages, p.total_out as total_out_messages, p.total_failed as total_failed_messages,
       p.execution_id as module_instance_id, p.tasks, p.tasks_done
from dwh.phase p;
comment on view ems.etl_phase_executions is 'the phases of executions';
comment on column ems.etl_phase_executions.etl_execution_id is 'id of the assignment; null: without a worker';
comment on column ems.etl_phase_executions.phase is 'data-extract, structure-transform, data-transform or data-load';
comment on column ems.etl_phase_executions.data_stream_name is 'the table';
comment on column ems.etl_phase_executions.instance_id is 'the worker';
comment on column ems.etl_phase_executions.stream_started_at is 'when the phase began';
comment on column ems.etl_phase_executions.stream_finished_at is 'when it ended; null: it runs';
comment on column ems.etl_phase_executions.status is 'started, finished or failed';
comment on column ems.etl_phase_executions.total_in_messages is 'rows in; -1: unknown';
comment on column ems.etl_phase_executions.total_out_messages is 'rows out; -1: unknown';
comment on column ems.etl_phase_executions.total_failed_messages is 'rows rejected; -1: unknown';
comment on column ems.etl_phase_executions.module_instance_id is 'the execution';
comment on column ems.etl_phase_executions.tasks is 'tasks of its Spark jobs';
comment on column ems.etl_phase_executions.tasks_done is 'how many of these are done';

comment on schema ems is 'the vocabulary of the ETL Management Service: workers, what they were given, and its phases';
