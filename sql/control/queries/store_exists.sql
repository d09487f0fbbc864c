-- Whether this database was ever migrated.
select to_regclass('dwh.target') is not null and exists (
    select from information_schema.columns where table_schema = 'dwh' and table_name = 'target' and column_name = 'columns'
) as found
