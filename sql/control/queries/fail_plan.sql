-- Note that planning failed and hold the topic back, longer each time.
update dwh.topic t
set failures = t.failures + 1,
    problem = %(problem)s,
    not_before = clock_timestamp() + m.backoff * power(2, least(t.failures, 6))
from dwh.module m
where m.name = t.module and t.id = %(topic_id)s and t.token = %(token)s
returning t.failures
