-- The newest committed blocks of every topic, with the snapshots that their last successful attempt read.
select b.*, t.name as topic, t.module, t.shard, e.inputs
from dwh.topic t
join dwh.module m on m.name = t.module and m.active
join lateral (
    select * from dwh.block
    where topic_id = t.id and kind = 'load' and status in ('committed', 'stale') and expired_at is null
    order by next_pos desc, next_id desc limit %(blocks)s
) b on true
join dwh.load_stat s on s.block_id = b.id
join dwh.execution e on e.id = s.execution_id
where t.active
