-- What each topic waits for: a row per topic, dependency, and source or active topic that fills it. A null watermark means that
-- nothing is known of it yet. `newest` is an upper bound of its positions. Some may be named twice, which changes no extreme.
-- A sharded topic waits for the same shard of a table, and for all of it where the table has no such shard (S24): the second
-- part finds the same shard, by hash for all topics or by index for one, and asks for the whole table only where there is none;
-- the third adds the unsharded topics of a table that has both. An unsharded topic waits for all of a table.
create view dwh.awaited as
select t.id as topic_id, d.ordinal, d.table_name, d.is_source, w.watermark, w.newest
from dwh.topic t
join dwh.module_dependency d on d.module = t.module and d.is_source
left join dwh.source_watermark w on w.table_name = d.table_name
union all
select t.id, d.ordinal, d.table_name, d.is_source,
       case when u.id is not null then u.watermark
            else (select case when bool_and(a.watermark is not null) then min(a.watermark) end
                  from dwh.active_topic a where a.target = d.table_name)
            end,
       case when u.id is not null then u.last_pos
            when d.ordinal = 0 then (select max(a.last_pos) from dwh.active_topic a where a.target = d.table_name)
            end
from dwh.topic t
join dwh.module_dependency d on d.module = t.module and not d.is_source
left join dwh.active_topic u on u.target = d.table_name and u.shard = t.shard
where t.shard is not null
union all
select t.id, d.ordinal, d.table_name, d.is_source, u.watermark, u.last_pos
from dwh.topic t
join dwh.module_dependency d on d.module = t.module and not d.is_source
join dwh.active_topic u on u.target = d.table_name and u.shard is null
where t.shard is not null
union all
select t.id, d.ordinal, d.table_name, d.is_source, u.watermark, u.last_pos
from dwh.topic t
join dwh.module_dependency d on d.module = t.module and not d.is_source
left join dwh.active_topic u on u.target = d.table_name
where t.shard is null;
comment on view dwh.awaited is 'what each topic waits for: a row per topic, dependency, and source or active topic that fills it';
comment on column dwh.awaited.topic_id is 'number of the topic';
comment on column dwh.awaited.ordinal is 'place of the dependency in depends_on; 0 is the base table';
comment on column dwh.awaited.table_name is 'the table that is waited for';
comment on column dwh.awaited.is_source is 'true: it is not built here';
comment on column dwh.awaited.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.awaited.newest is 'an upper bound of the positions that are there';
