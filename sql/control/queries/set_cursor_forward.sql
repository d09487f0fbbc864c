-- The cursor passes over a range that was left out on purpose.
update dwh.topic
set last_pos = %(pos)s, last_id = %(id)s, watermark = greatest(watermark, %(watermark)s), examined = null, last_full = true,
    lease_worker = null, lease_until = null, not_before = null, failures = 0, problem = null
where id = %(topic_id)s
