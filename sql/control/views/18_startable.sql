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
