-- Register a topic, or switch it on again; its cursor stays. Returns its id and the database's clock.
insert into dwh.topic (name, module, target, shard) values (%(name)s, %(module)s, %(target)s, %(shard)s)
on conflict (name) do update set active = true
returning id, now() as now
