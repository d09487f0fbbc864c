-- Raise one alert. Returns its id; no row means that this occurrence was raised before.
insert into dwh.alert (kind, key, topic, block_id, severity, text, resolved_at)
values (%(kind)s, %(key)s, %(topic)s, %(block_id)s, %(severity)s, %(text)s, case when %(momentary)s then now() end)
on conflict do nothing
returning id
