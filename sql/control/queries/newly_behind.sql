-- Topics that are behind their promise and have no alert that says so. Returns nothing where all is told.
select b.topic, date_trunc('second', b.lag)::text as lag, b.promise::text as promise
from dwh.behind b
where not exists (select from dwh.alert a where a.kind = 'behind' and a.topic = b.topic and a.resolved_at is null)
order by b.topic
