-- What the ledger says became of the events of each committed block of an ingest topic.
-- `rows_read` is null for blocks that were restated with others: one execution counts them together.
select b.id as block_id, coalesce(d.dead, 0)::bigint as dead,
       case when e.block_id is not null then e.rows_read end as rows_read,
       e.rows_inserted + e.rows_discarded + e.rows_rejected as rows_accounted
from dwh.block b
join dwh.topic t on t.id = b.topic_id
join dwh.load_stat s on s.block_id = b.id
join dwh.execution e on e.id = s.execution_id
left join lateral (select sum(rows) as dead from dwh.dead_letter where block_id = b.id) d on true
where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale') and b.expired_at is null
order by b.seq
