-- Every block that can be loaded or was, with the key that people pick it by: the day of its end in the module's timezone, its number,
-- `r2` where a committed block of this number was rolled back once, the shard. A key never names two blocks: what an orchestrator
-- was told of the first would be taken for the second.
create view dwh.partition as
select b.id, b.topic_id, b.tile, t.name as topic, t.module, t.shard, b.seq, b.status, b.committed_at,
       to_char(b.next_pos at time zone m.timezone, 'YYYYMMDD')
           || '-' || lpad(b.seq::text, greatest(6, length(b.seq::text)), '0')
           || case when l.lives > 0 then 'r' || l.lives + 1 else '' end
           || coalesce(':' || t.shard, '') as key
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
cross join lateral (
    select count(*) as lives from dwh.block v
    where v.topic_id = b.topic_id and v.seq = b.seq and v.status = 'void' and v.committed_at is not null
) l
where b.kind = 'load' and b.status not in ('void', 'skipped');
comment on view dwh.partition is 'every block that can be loaded or was, with the key of its partition in Dagster';
comment on column dwh.partition.id is 'number of the block';
comment on column dwh.partition.topic_id is 'number of the topic';
comment on column dwh.partition.tile is 'number of the topic, as the key of its plan';
comment on column dwh.partition.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.partition.module is 'name of its module: db.table[#tag]';
comment on column dwh.partition.shard is 'its shard; null: it has none';
comment on column dwh.partition.seq is 'its place in the topic, from 1 on';
comment on column dwh.partition.status is 'planned, open, parked, committed or stale';
comment on column dwh.partition.committed_at is 'when it was committed';
comment on column dwh.partition.key is 'day of its end, place, `r2` after a rollback, shard: 20261116-000042';
