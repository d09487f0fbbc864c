-- The topics that are loaded: neither they nor their modules are switched off.
-- Said with `not in`, not with a join: so it stays one table in the plans of those who join it, and is found by its index.
create view dwh.active_topic as
select t.id, t.target, t.shard, t.watermark, t.last_pos
from dwh.topic t
where t.active and t.module not in (select m.name from dwh.module m where not m.active);
