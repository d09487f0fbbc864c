-- Every committed block of a topic, in order; `base_expired`: rows of its base up to there may be gone by intent.
select b.*, t.shard,
       (select max(x.next_pos) from dwh.topic u join dwh.block x on x.topic_id = u.id and x.expired_at is not null and x.status <> 'void'
        where u.target = m.base) as base_expired
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale')
order by b.seq
