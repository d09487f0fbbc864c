-- Committed blocks of the topics that depend on a table and overlap a range of it become stale; of a reload, its newest one.
-- Returns those newly marked; no row means that nothing (more) was built upon the range.
update dwh.block b
set status = 'stale'
from dwh.topic t
join dwh.module m on m.name = t.module
join dwh.module_dependency d on d.module = m.name
where t.id = b.topic_id and d.table_name = %(table)s and t.target <> %(table)s and m.active
  and b.status = 'committed' and b.kind = 'load' and b.expired_at is null
  and case when m.processor = 'reload'
           then not exists (select from dwh.block later where later.topic_id = b.topic_id and later.seq > b.seq
                            and later.status in ('committed', 'stale'))
           else b.last_pos <= %(to_pos)s and b.next_pos >= %(from_pos)s end
returning b.id, t.name as topic, t.target, b.last_pos, b.next_pos
