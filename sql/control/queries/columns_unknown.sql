-- Modules in force whose newest loaded block was made by a version of which the columns are not known. Nothing where all are.
select m.name as module, m.version as module_version, n.code_version
from dwh.module m
cross join lateral (
    select e.code_version, e.module_version
    from dwh.topic t
    cross join lateral (
        select e.id, e.code_version, e.module_version from dwh.execution e
        where e.topic_id = t.id and e.execution_code = 'Succeeded' and e.block_id is not null
        order by e.id desc limit 1
    ) e
    where t.module = m.name
    order by e.id desc limit 1
) n
where m.active and m.kind = 'table' and n.module_version = m.version
  and not exists (
      select from dwh.column_lineage c
      where c.module = m.name and c.module_version = m.version and c.code_version = n.code_version
  )
order by m.name
