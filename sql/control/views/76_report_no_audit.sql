-- Tables whose rows do not say which block and execution wrote them: built ones that lack an audit column, as the last apply found
-- them, and tables of the catalog that nobody builds and no source declares. Sources are written elsewhere and not asked.
create view dwh.report_no_audit as
select g.name as table_name,
       case when g.audit_columns is null then 'not looked at yet: dwh lineage apply does'
            else 'lacks ' || array_to_string(a.missing, ', ') end as problem
from dwh.target g
cross join lateral (
    select array_agg(c.name) as missing from unnest(array['_block', '_execution', '_loaded_at']) c (name)
    where c.name <> all (coalesce(g.audit_columns, '{}'))
) a
where a.missing is not null and exists (select from dwh.module m where m.target = g.name and not m.removed)
union all
select i.table_namespace || '.' || i.table_name, 'nobody builds it and no source declares it'
from iceberg.iceberg_tables i
where not exists (select from dwh.target g where g.name = i.table_namespace || '.' || i.table_name)
  and not exists (select from dwh.source s where s.name = i.table_namespace || '.' || i.table_name)
order by table_name;
comment on view dwh.report_no_audit is 'tables whose rows do not say which block and execution wrote them';
comment on column dwh.report_no_audit.table_name is 'name of the table: db.table';
comment on column dwh.report_no_audit.problem is 'what is missing, or that nobody builds it';
