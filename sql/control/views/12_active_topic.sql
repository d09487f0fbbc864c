-- The topics that are loaded: neither they nor their modules are switched off.
-- Said with `in`, not with a join: so it stays one table in the plans of those who join it, and is found by its index.
-- Said with `nullif ... is not null`: so Postgres expects nearly all topics, where it would expect half of them after `not in`.
create view dwh.active_topic as
select t.id, t.target, t.shard, t.watermark, t.last_pos
from dwh.topic t
where t.active and nullif(t.module in (select m.name from dwh.module m where not m.active), true) is not null;
comment on view dwh.active_topic is 'the topics that are loaded: neither they nor their modules are switched off';
comment on column dwh.active_topic.id is 'number of the topic';
comment on column dwh.active_topic.target is 'the table it fills';
comment on column dwh.active_topic.shard is 'its shard; null: it has none';
comment on column dwh.active_topic.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.active_topic.last_pos is 'pos of its cursor: all up to here is loaded';
