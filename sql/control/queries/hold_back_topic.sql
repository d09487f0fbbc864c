-- Release the lease after a failure and wait before the next attempt, longer each time.
update dwh.topic t
set lease_worker = null, lease_until = null, problem = %(problem)s, last_end = clock_timestamp(),
    not_before = case when %(failures)s > 0 then clock_timestamp() + m.backoff * power(2, least(%(failures)s - 1, 6)) end
from dwh.module m
where m.name = t.module and t.id = %(topic_id)s and t.token = %(token)s
