-- How far each table is complete, by shard: the least watermark of its active topics, or what was observed of a source.
-- A null watermark means that nothing is known yet. `newest` is an upper bound of the positions it holds.
create view dwh.table_watermark as
select t.target as table_name,
       t.shard,
       case when bool_and(t.watermark is not null) then min(t.watermark) end as watermark,
       max(t.last_pos) as newest
from dwh.topic t
join dwh.module m on m.name = t.module
where t.active and m.active
group by t.target, t.shard
union all
select s.table_name, null, s.watermark, s.newest from dwh.source_watermark s;
comment on view dwh.table_watermark is 'how far each table is complete, by shard: built ones and sources';
comment on column dwh.table_watermark.table_name is 'name of the table: db.table';
comment on column dwh.table_watermark.shard is 'its shard; null: it has none';
comment on column dwh.table_watermark.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.table_watermark.newest is 'an upper bound of the positions that are there';
