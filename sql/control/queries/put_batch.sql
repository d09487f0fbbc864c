-- Put a batch in force, or what its file says now. What was asked of its next run stays.
insert into dwh.batch (name, kind, active, retries, frequency, timezone, window_start, window_end, spec)
values (%(name)s, %(kind)s, %(active)s, %(retries)s, %(frequency)s, %(timezone)s, %(window_start)s, %(window_end)s, %(spec)s)
on conflict (name) do update
set kind = excluded.kind, active = excluded.active, removed = false, retries = excluded.retries, frequency = excluded.frequency,
    timezone = excluded.timezone, window_start = excluded.window_start, window_end = excluded.window_end, spec = excluded.spec
