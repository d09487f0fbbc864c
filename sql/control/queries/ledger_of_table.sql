-- What the ledger says a table holds, by block. Of a reload only its newest block is there, of an expired block nothing.
select s.block_id, case when b.expired_at is null then s.rows else 0 end as rows, s.execution_id, t.name as topic
from dwh.load_stat s
join dwh.block b on b.id = s.block_id
join dwh.topic t on t.id = b.topic_id
join dwh.module m on m.name = t.module
where t.target = %(table)s and b.status in ('committed', 'stale')
  and (m.processor <> 'reload' or not exists (
      select from dwh.block later where later.topic_id = b.topic_id and later.seq > b.seq and later.status in ('committed', 'stale')))
