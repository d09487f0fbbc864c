-- Committed blocks of a module that end before its horizon and that nobody needs any more, the oldest first, with their rows.
-- Needed are: what a topic that depends on the table has not passed yet; what a stale, late or restated block, of such a topic or
-- of this module, will be made from or made anew. No row means that nothing can go. With `ids` only those are looked at.
with needed as (
    select min(n.pos) as pos from (
        select coalesce(t.last_pos, '-infinity') as pos
        from dwh.module_dependency d
        join dwh.module m on m.name = d.module and not m.removed
        join dwh.topic t on t.module = m.name
        where d.table_name = %(table)s
        union all
        select b.last_pos
        from dwh.block b
        join dwh.topic t on t.id = b.topic_id
        where (b.status = 'stale' or b.status = 'committed' and b.late_rows > 0) and b.kind = 'load' and b.expired_at is null
          and (t.module = %(module)s or t.module in (select d.module from dwh.module_dependency d where d.table_name = %(table)s))
        union all
        select b.last_pos
        from dwh.restatement r
        join dwh.topic t on t.id = r.topic_id
        join dwh.block b on b.topic_id = r.topic_id and b.seq between r.first_seq and r.last_seq and b.status <> 'void'
        where r.status = 'open'
          and (t.module = %(module)s or t.module in (select d.module from dwh.module_dependency d where d.table_name = %(table)s))
    ) n
)
select b.id, t.name as topic, b.seq, coalesce(s.rows, 0) as rows
from dwh.topic t
join dwh.block b on b.topic_id = t.id and b.status = 'committed' and b.kind = 'load' and b.expired_at is null
left join dwh.load_stat s on s.block_id = b.id
where t.module = %(module)s
  and b.next_pos < now() - %(keep)s::interval
  and b.next_pos < coalesce((select pos from needed), 'infinity')
  and (%(ids)s::bigint[] is null or b.id = any (%(ids)s::bigint[]))
order by b.next_pos, b.next_id
limit %(limit)s
