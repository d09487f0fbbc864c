-- An alert for each topic that is behind its promise and has none open yet: once per episode.
insert into dwh.alert (kind, key, topic, severity, text)
select 'behind', format('behind:%s:%s', b.topic, extract(epoch from now())), b.topic, 'warn',
       format(E'topic %s is %s behind, its promise is %s: %s\n`dwh why %s` names what it waits for.',
              b.topic, date_trunc('second', b.lag), b.promise, b.why, b.topic)
from dwh.behind b
where not exists (select from dwh.alert a where a.kind = 'behind' and a.topic = b.topic and a.resolved_at is null)
order by b.topic
on conflict do nothing
