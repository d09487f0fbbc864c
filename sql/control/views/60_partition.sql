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
