-- This worker lives.
insert into dwh.worker (name) values (%(worker)s) on conflict (name) do update set seen_at = clock_timestamp(), ended_at = null
