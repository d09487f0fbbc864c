-- Everything that is switched off or paused, at whatever level: source, module, topic, batch, module in a batch, batch in a batch.
-- What was removed from the Lineage is not switched off but gone, and is not shown.
create view dwh.report_disabled as
select 'source' as level, s.name, null::text as part_of, null::timestamptz as since, null::text as by
from dwh.source s where not s.active and not s.removed
union all
select 'module', m.name, null, v.changed_at, v.changed_by
from dwh.module m
left join dwh.module_version v on v.module = m.name and v.version = m.version
where not m.active and not m.removed
union all
select 'topic', t.name, t.module, null, null
from dwh.topic t join dwh.module m on m.name = t.module
where not t.active and not m.removed
union all
select 'topic, paused', t.name, t.module, t.paused_at, t.paused_by
from dwh.topic t join dwh.module m on m.name = t.module
where t.paused is not null and t.active and m.active
union all
select 'batch', b.name, null, null, null from dwh.batch b where not b.active and not b.removed
union all
select 'module in batch', l.module, l.batch, null, null
from dwh.batch_module l join dwh.batch b on b.name = l.batch
where not l.active and not b.removed
union all
select 'batch in batch', h.child, h.parent, null, null
from dwh.batch_hierarchy h join dwh.batch b on b.name = h.parent
where not h.active and not b.removed
order by level, name, part_of;
comment on view dwh.report_disabled is 'what is switched off: source, module, topic, batch, module or batch in a batch';
comment on column dwh.report_disabled.level is 'what it is: source, module, topic, batch, module in batch, batch in batch';
comment on column dwh.report_disabled.name is 'its name';
comment on column dwh.report_disabled.part_of is 'the module of a topic, or the batch that it is part of';
comment on column dwh.report_disabled.since is 'since when, where that is known';
comment on column dwh.report_disabled.by is 'who did it, where that is known';
