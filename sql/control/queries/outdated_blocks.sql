-- Blocks of a module that were built by transforms (or a processor, a key, views before them) other than those given, by topic; of
-- a reload only its newest block, which is all that its table holds. No row means that all were built as they would be now.
select t.name as topic, min(b.seq) as first, max(b.seq) as last, count(*) as blocks, coalesce(sum(s.rows), 0)::bigint as rows
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
join dwh.load_stat s on s.block_id = b.id
join dwh.execution e on e.id = s.execution_id
left join dwh.module_version v on v.module = t.module and v.version = e.module_version
where t.module = %(module)s and t.active and b.kind = 'load' and b.status in ('committed', 'stale') and b.expired_at is null
  and (e.code_version <> all (%(versions)s)
       or exists (select from jsonb_each(%(shape)s::jsonb) f where coalesce(v.spec -> f.key, f.value) <> f.value))
  and (m.processor <> 'reload' or not exists (
      select from dwh.block later where later.topic_id = b.topic_id and later.seq > b.seq and later.status in ('committed', 'stale')))
group by t.name
order by t.name
