-- Register a source, or bring what is registered up to date; what was observed of it stays.
insert into dwh.source (name, kind, spec, idle_after, active)
values (%(name)s, %(kind)s, %(spec)s, %(idle_after)s, %(active)s)
on conflict (name) do update
set kind = excluded.kind, spec = excluded.spec, idle_after = excluded.idle_after, active = excluded.active,
    removed = false
