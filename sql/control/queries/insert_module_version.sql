-- Keep a version of a module: the newest one is in force. A null spec means that its file was removed.
insert into dwh.module_version (module, version, spec, place, changed_by)
select %(module)s, coalesce(max(version), 0) + 1, %(spec)s, %(place)s, %(who)s from dwh.module_version where module = %(module)s
returning version
