-- An alert for a topic that fell behind its promise: the beginning of an episode. Nothing where one is open.
insert into dwh.alert (kind, key, topic, severity, text)
values ('behind', format('behind:%%s:%%s', %(topic)s::text, extract(epoch from now())), %(topic)s, 'warn', %(text)s)
on conflict do nothing
