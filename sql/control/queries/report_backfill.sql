-- How far a topic is with its backfill: base rows and blocks that were committed since it began, and what keeps it. One row a topic.
select t.name as topic, t.backfill_at, t.backfill_rows, t.paused, t.rows_per_second, v.verdict, v.reason, v.parked_block is not null as parked,
       coalesce(b.rows, 0)::bigint as done_rows, coalesce(b.blocks, 0) as done_blocks
from dwh.topic t
join dwh.verdict v on v.topic_id = t.id
left join lateral (
    select sum(base_rows) as rows, count(*) as blocks from dwh.block
    where topic_id = t.id and kind = 'load' and status in ('committed', 'stale') and committed_at >= t.backfill_at
) b on true
where t.name = %(topic)s
