-- What each topic waits for, with how far it is complete for this topic's shard; the base table is ordinal 0.
select t.name as topic, d.ordinal, d.table_name, d.is_source, min(w.watermark) as watermark,
       coalesce(bool_or(w.watermark is null), true) as unknown
from dwh.topic t
join dwh.module_dependency d on d.module = t.module
left join dwh.table_watermark w
       on w.table_name = d.table_name
      and (w.shard is null or t.shard is null or w.shard = t.shard
           or not exists (select from dwh.topic same where same.target = d.table_name and same.shard = t.shard))
group by t.name, d.ordinal, d.table_name, d.is_source
order by t.name, d.ordinal
