-- A worker has started. What it has said already, by a report that came before this, stays.
insert into dwh.worker (id, host, pid, kinds) values (%(id)s, %(host)s, %(pid)s, %(kinds)s)
on conflict (id) do update set host = excluded.host, pid = excluded.pid, kinds = excluded.kinds
