-- The blocks that the topic's last successful run loaded and all after them: those of one attempt, or of all attempts of its batch
-- instance. `first` is null where it loaded none that still stand; `shared` says that other modules write to the same table.
with run as (
    select e.id, e.batch_instance_id from dwh.execution e
    where e.topic_id = %(topic_id)s and e.execution_code = 'Succeeded' and (e.block_id is not null or e.restatement_id is not null)
    order by e.id desc limit 1
)
select min(b.seq) filter (where e.id = run.id or e.batch_instance_id = run.batch_instance_id) as first, max(b.seq) as last,
       (select m.processor from dwh.module m join dwh.topic t on t.module = m.name where t.id = %(topic_id)s) as processor,
       (select count(distinct o.module) > 1 from dwh.topic t join dwh.topic o on o.target = t.target and o.active
        where t.id = %(topic_id)s) as shared
from run
join dwh.block b on b.topic_id = %(topic_id)s and b.status in ('committed', 'stale') and b.kind = 'load'
join dwh.load_stat s on s.block_id = b.id
join dwh.execution e on e.id = s.execution_id
