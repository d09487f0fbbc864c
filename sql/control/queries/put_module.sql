-- Put a module in force, or its new version.
insert into dwh.module (name, target, version, active, area, processor, base, delay, repeat, promise, attempts, backoff, window_start,
                        window_end, timezone, priority, spec)
values (%(name)s, %(target)s, %(version)s, %(active)s, %(area)s, %(processor)s, %(base)s, %(delay)s, %(repeat)s, %(promise)s, %(attempts)s,
        %(backoff)s, %(window_start)s, %(window_end)s, %(timezone)s, %(priority)s, %(spec)s)
on conflict (name) do update
set target = excluded.target, version = excluded.version, active = excluded.active, removed = false, area = excluded.area, processor = excluded.processor,
    base = excluded.base, delay = excluded.delay, repeat = excluded.repeat, promise = excluded.promise, attempts = excluded.attempts, backoff = excluded.backoff,
    window_start = excluded.window_start, window_end = excluded.window_end, timezone = excluded.timezone, priority = excluded.priority, spec = excluded.spec
