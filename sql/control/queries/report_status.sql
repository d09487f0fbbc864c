-- The status of every topic, or of those named, with spans of time in seconds. Returns nothing where no topic fits.
select topic, module, target, shard, area, processor, verdict, due, last_pos, last_id, watermark,
       extract(epoch from lag)::float8 as lag_seconds, pending_rows, planned_blocks, more, begun_block, parked, stale_blocks,
       late_rows, changed_blocks, why, problem, upto, slowest, newest, last_end, not_before, restatement, rows_per_second, lease_worker,
       lease_until, base, extract(epoch from delay)::float8 as delay_seconds, extract(epoch from repeat)::float8 as repeat_seconds,
       extract(epoch from promise)::float8 as promise_seconds, window_start, window_end, timezone, now() as at
from dwh.status
where %(topics)s::text[] is null or topic = any (%(topics)s)
order by topic
