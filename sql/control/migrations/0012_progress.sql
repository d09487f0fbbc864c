-- How far a phase is while it goes on: tasks of its Spark jobs, as Spark counts them. 0 of 0 means that nobody has said.
alter table dwh.phase
    add column tasks      bigint not null default 0 check (tasks >= 0),
    add column tasks_done bigint not null default 0 check (tasks_done between 0 and tasks);
