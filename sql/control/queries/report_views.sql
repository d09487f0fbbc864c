-- The reports that can be asked for by name, each with a line about it: the comment of its view. Never empty.
select replace(substr(c.relname, 8), '_', '-') as name, c.relname as view, obj_description(c.oid, 'pg_class') as about
from pg_class c
where c.relnamespace = 'dwh'::regnamespace and c.relkind = 'v' and starts_with(c.relname, 'report_')
order by name
