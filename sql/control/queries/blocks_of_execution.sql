-- The blocks that an attempt committed and that no later one has replaced, with their statistics; empty after a rollback.
select p.key, p.seq, b.id, b.next_pos, b.next_id, b.last_pos, b.last_id, b.base_rows, b.late_rows,
       s.rows, s.bytes, s.bytes_read, s.seconds, extract(epoch from s.lag)::double precision as lag, s.min_pos, s.max_pos, s.nulls,
       s.measures, s.expects, s.checks
from dwh.load_stat s
join dwh.block b on b.id = s.block_id
join dwh.partition p on p.id = s.block_id
where s.execution_id = %(execution_id)s
order by b.seq
