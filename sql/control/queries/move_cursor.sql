-- The cursor, the watermark and the lease of a topic whose block is done.
update dwh.topic
set last_pos = %(next_pos)s, last_id = %(next_id)s,
    watermark = greatest(watermark, %(watermark)s),
    last_full = not %(takes_all)s, last_end = clock_timestamp(),
    rows_per_second = coalesce(0.5 * rows_per_second + 0.5 * %(rate)s, %(rate)s, rows_per_second),
    backfill_at = case when %(takes_all)s then null else backfill_at end,
    backfill_rows = case when %(takes_all)s then null else backfill_rows end,
    lease_worker = null, lease_until = null, not_before = null, failures = 0, problem = null
where id = %(topic_id)s
