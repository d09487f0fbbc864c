-- One dependency of a module; ordinal 0 is its base table.
insert into dwh.module_dependency (module, ordinal, table_name, is_source) values (%(module)s, %(ordinal)s, %(table)s, %(is_source)s)
