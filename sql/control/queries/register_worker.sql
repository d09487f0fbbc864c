-- A worker has started.
insert into dwh.worker (id, host, pid) values (%(id)s, %(host)s, %(pid)s) on conflict (id) do nothing
