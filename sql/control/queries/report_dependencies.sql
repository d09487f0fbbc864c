-- What each topic waits for, with how far it is complete for this topic's shard; the base table is ordinal 0.
select t.name as topic, a.ordinal, a.table_name, a.is_source, min(a.watermark) as watermark, bool_or(a.watermark is null) as unknown
from dwh.topic t
join dwh.awaited a on a.topic_id = t.id
group by t.name, a.ordinal, a.table_name, a.is_source
order by t.name, a.ordinal
