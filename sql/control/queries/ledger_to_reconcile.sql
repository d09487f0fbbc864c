-- What the ledger says a table holds: every committed block of its topics in order, with its rows and who wrote them.
-- Of an expired block nothing is left, of a table that is rebuilt as a whole only the newest block.
select t.name as topic, t.module, b.id as block_id, b.seq, s.execution_id, m.processor,
       case when b.expired_at is null then s.rows else 0 end as rows,
       b.seq = max(b.seq) over (partition by t.id) as newest
from dwh.topic t
join dwh.module m on m.name = t.module
join dwh.block b on b.topic_id = t.id and b.status in ('committed', 'stale') and b.kind = 'load'
join dwh.load_stat s on s.block_id = b.id
where t.target = %(table)s
order by t.id, b.seq
