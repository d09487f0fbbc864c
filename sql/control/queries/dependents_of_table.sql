-- Modules whose files are there and that depend on a table, or read it without waiting for it. Nothing where none does.
select m.name as module
from dwh.module m
where not m.removed and m.target is distinct from %(table)s
  and (exists (select from dwh.module_dependency d where d.module = m.name and d.table_name = %(table)s)
       or coalesce(m.spec -> 'reads', '[]') ? %(table)s)
order by m.name
