-- What the evaluation of a start must know of each topic: who holds it, whether it is switched on, what was asked of its next run,
-- and which attempts have failed since the last success and were not rolled back. Ask for few topics, by topic_id.
create view dwh.startable as
select t.id as topic_id, t.name as topic, t.module, t.token, m.kind, m.version as module_version, t.active and m.active and t.paused is null as active,
       case when t.lease_until > clock_timestamp() then t.lease_worker end as holder,
       t.next_run_code as asked,
       (select e.id from dwh.execution e where e.topic_id = t.id and e.execution_code = 'Executing') as running,
       array(select e.id from dwh.execution e where e.topic_id = t.id and e.execution_code = 'Failed' and e.rolled_back_by is null
             order by e.id) as failed
from dwh.topic t
join dwh.module m on m.name = t.module;
comment on view dwh.startable is 'what the evaluation of a start must know of each topic; ask for few, by topic_id';
comment on column dwh.startable.topic_id is 'number of the topic';
comment on column dwh.startable.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.startable.module is 'name of its module: db.table[#tag]';
comment on column dwh.startable.token is 'it rises with each claim; an older one can change nothing';
comment on column dwh.startable.kind is 'table, or what a command runs: command or python';
comment on column dwh.startable.module_version is 'version of the module in force';
comment on column dwh.startable.active is 'true: it is neither switched off nor paused';
comment on column dwh.startable.holder is 'who holds its lease; null: nobody';
comment on column dwh.startable.asked is 'what its next run shall do, if a person said so';
comment on column dwh.startable.running is 'execution that runs';
comment on column dwh.startable.failed is 'failed executions since the last success that were not rolled back';
