-- A topic whose table was dropped has loaded nothing: it begins anew where its file says, if that comes back.
update dwh.topic
set last_pos = null, last_id = null, watermark = null, examined = null, last_full = false, last_end = null, rows_per_second = null,
    lease_worker = null, lease_until = null, not_before = null, failures = 0, problem = null
where id = %(topic_id)s
