-- Of these blocks, those that are not committed, or are unknown. No row means that all are.
select wanted.id, coalesce(b.status, 'unknown') as status, t.name as topic
from unnest(%(ids)s::bigint[]) as wanted (id)
left join dwh.block b on b.id = wanted.id
left join dwh.topic t on t.id = b.topic_id
where b.status is null or b.status not in ('committed', 'stale')
