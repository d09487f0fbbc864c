-- Register a built table, and whether it may be emptied. Its generation stays as it is.
insert into dwh.target (name, allow_truncate) values (%(name)s, %(allow_truncate)s)
on conflict (name) do update set allow_truncate = excluded.allow_truncate
where target.allow_truncate <> excluded.allow_truncate
