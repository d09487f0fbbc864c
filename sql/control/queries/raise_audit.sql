-- An alert for what an audit found in a block, once for the rows of one execution. Where the rows of whole ranges are gone from a source,
-- one alert a topic is enough. Returns its id; no row means that it was told before.
insert into dwh.alert (kind, key, topic, block_id, severity, text)
select 'audit', format('audit:%%s:%%s:%%s', %(block_id)s::bigint, %(execution_id)s::bigint, %(found)s::text), %(topic)s, %(block_id)s, 'error', %(text)s
where %(found)s::text <> 'gone' or not exists (
    select from dwh.alert a where a.kind = 'audit' and a.topic = %(topic)s and a.resolved_at is null and a.key like '%%:gone')
on conflict (key) do nothing
returning id
