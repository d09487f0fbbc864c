-- Begin a job of maintenance. No row means that another process is at it.
insert into dwh.maintenance (task, table_name, worker, lease_until)
values (%(task)s, %(table)s, %(worker)s, clock_timestamp() + make_interval(secs => %(lease)s))
on conflict (task, table_name) where ended_at is null do nothing
returning id
