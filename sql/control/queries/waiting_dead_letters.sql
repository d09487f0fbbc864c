-- Dead letters of a topic that wait, that no block is about to try again; of some blocks or reasons, or all.
select d.block_id, d.reason, d.rows
from dwh.dead_letter d
join dwh.block b on b.id = d.block_id
where b.topic_id = %(topic_id)s and d.replayed_by is null
  and (%(blocks)s::bigint[] is null or d.block_id = any(%(blocks)s))
  and (%(reasons)s::text[] is null or d.reason = any(%(reasons)s))
  and not exists (
      select from dwh.block u
      cross join lateral jsonb_to_recordset(u.contents -> 'replays') as r(block bigint, reason text)
      where u.topic_id = b.topic_id and u.status in ('planned', 'open', 'parked') and r.block = d.block_id and r.reason = d.reason
  )
order by d.block_id, d.reason
