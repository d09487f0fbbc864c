-- Keep where the columns of a module come from. No row changed means that it was kept before.
insert into dwh.column_lineage (module, module_version, code_version, columns, decides, problem)
values (%(module)s, %(version)s, %(code_version)s, %(columns)s, %(decides)s, %(problem)s)
on conflict do nothing
