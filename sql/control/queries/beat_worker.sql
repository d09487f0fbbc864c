-- What a worker said of itself, as of when the bus took it. An older report than the last, and one of a worker that has ended,
-- changes nothing.
insert into dwh.worker (id, state, started_at, seen_at) values (%(id)s, %(state)s, %(at)s, %(at)s)
on conflict (id) do update
set seen_at = excluded.seen_at, state = excluded.state,
    state_since = case when worker.state = excluded.state then worker.state_since else clock_timestamp() end
where worker.ended_at is null and worker.seen_at <= excluded.seen_at
