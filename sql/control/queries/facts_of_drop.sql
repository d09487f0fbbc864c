-- What stands in the way of dropping a table, and what goes with it: one row per topic that writes it, removed modules too.
-- Nothing where no module ever wrote it.
select t.id as topic_id, t.name as topic, m.name as module, m.processor, m.active and t.active and not m.removed as active,
       t.lease_until > clock_timestamp() as leased, t.lease_worker,
       exists (select from dwh.restatement r where r.topic_id = t.id and r.status = 'open') as restating,
       (select count(*) from dwh.block b where b.topic_id = t.id and b.kind = 'load' and b.status in ('committed', 'stale')) as blocks
from dwh.topic t
join dwh.module m on m.name = t.module
where t.target = %(table)s
order by t.name
