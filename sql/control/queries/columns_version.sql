-- The version of a module in force whose columns are not known for this text of its transforms. No row where they are.
select m.version from dwh.module m
where m.name = %(module)s and m.active
  and not exists (
      select from dwh.column_lineage c
      where c.module = m.name and c.module_version = m.version and c.code_version = %(code_version)s
  )
