-- Put a command in force, or its new version.
insert into dwh.module (name, kind, version, active, area, processor, base, delay, repeat, attempts, backoff, spec)
values (%(name)s, %(kind)s, %(version)s, %(active)s, %(area)s, %(kind)s, '', '0', '0', 1, '0', %(spec)s)
on conflict (name) do update
set kind = excluded.kind, target = null, version = excluded.version, active = excluded.active, removed = false, area = excluded.area,
    processor = excluded.processor, base = '', promise = null, spec = excluded.spec
