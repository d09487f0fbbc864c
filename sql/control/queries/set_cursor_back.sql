-- The cursor falls to a block's bound, by a recorded act. Its watermark falls too: rows at and above it will come again.
update dwh.topic
set last_pos = %(pos)s, last_id = %(id)s, examined = null, last_full = true,
    watermark = greatest(least(watermark, %(pos)s::timestamptz - interval '1 microsecond'), '0001-01-01 00:00:00+00'),
    lease_worker = null, lease_until = null, not_before = null, failures = 0, problem = null
where id = %(topic_id)s
