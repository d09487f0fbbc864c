-- The committed blocks of a topic from one sequence number to another (or to its end), counted, where they begin, what it took to
-- load them and how fast their topic is. Always one row.
select min(b.seq) as first, max(b.seq) as last, count(*) as blocks, coalesce(sum(b.base_rows), 0)::bigint as rows,
       min(b.last_pos) as from_pos, sum(s.seconds) as seconds, max(t.rows_per_second) as rows_per_second
from dwh.block b join dwh.topic t on t.id = b.topic_id
left join dwh.load_stat s on s.block_id = b.id
where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale') and b.expired_at is null
  and b.seq >= %(first)s and b.seq <= coalesce(%(last)s, 2147483647)
