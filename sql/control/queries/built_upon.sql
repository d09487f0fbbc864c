-- The topics with finished blocks that were built upon a table's rows from an instant on, and the first such block of each.
-- Of a reload it is its newest one, unless it is stale already. No row means that nothing was built upon them.
select t.name as topic, t.target, min(b.seq) as first
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
join dwh.module_dependency d on d.module = m.name
where d.table_name = %(table)s and t.target <> %(table)s and m.active and t.active
  and b.kind = 'load' and b.status in ('committed', 'stale')
  and case when m.processor = 'reload'
           then b.status = 'committed' and not exists (select from dwh.block later where later.topic_id = b.topic_id
                                                       and later.seq > b.seq and later.status in ('committed', 'stale'))
           else b.next_pos >= %(from_pos)s end
group by t.name, t.target
order by t.name
