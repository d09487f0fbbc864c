-- What a batch consists of, in its order, and each part's newest instance. Returns nothing where the batch is unknown.
select 1 as rank, l.sequence, l.module as name, m.kind, l.active and m.active as active,
       e.execution_code, e.processing_code, e.started_at, e.ended_at, e.reason, e.rows
from dwh.batch_module l
join dwh.module m on m.name = l.module
left join lateral (
    select e.execution_code, e.processing_code, e.started_at, e.ended_at, e.reason, e.rows_inserted + e.rows_updated as rows
    from dwh.execution e join dwh.topic t on t.id = e.topic_id
    where t.module = l.module and e.batch_instance_id = (select max(id) from dwh.batch_instance where batch = l.batch)
    order by e.id desc limit 1
) e on true
where l.batch = %(batch)s
union all
select 0, h.sequence, h.child, 'batch', h.active and b.active, i.execution_code, i.processing_code, i.started_at, i.ended_at, i.reason, null
from dwh.batch_hierarchy h
join dwh.batch b on b.name = h.child
left join lateral (select * from dwh.batch_instance where batch = h.child order by id desc limit 1) i on true
where h.parent = %(batch)s
order by rank, sequence
