-- The newest that is known of the columns of each module in force. Nothing before a Lineage was applied or a block loaded.
select m.name as module, m.target, n.module_version, n.code_version, n.noted_at, n.columns, n.decides, n.problem
from dwh.module m
cross join lateral (
    select * from dwh.column_lineage c where c.module = m.name order by c.module_version desc, c.noted_at desc limit 1
) n
where not m.removed
order by m.name
