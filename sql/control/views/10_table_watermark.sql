-- How far each table is complete, by shard: the least watermark of its active topics, or what was observed of a source.
-- A null watermark means that nothing is known yet. A source that has been idle for its idle_after counts as complete up to
-- the moment it was last looked at. `newest` is an upper bound of the positions it holds.
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
select s.name,
       null,
       case when s.idle_after is not null and s.seen_at - s.changed_at >= s.idle_after
            then greatest(s.watermark, s.seen_at)
            else s.watermark end,
       s.newest_pos
from dwh.source s
where s.active;
