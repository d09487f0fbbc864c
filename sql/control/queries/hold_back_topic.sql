-- Release the lease after a failure and wait before the next attempt, longer each time: by the module's back-off where the block
-- has failed, by a second and up to a minute where what it needs is away (`pauses`, the attempts so far), which nobody must mend here.
update dwh.topic t
set lease_worker = null, lease_until = null, problem = %(problem)s, last_end = clock_timestamp(),
    not_before = case
        when %(failures)s > 0 then clock_timestamp() + m.backoff * power(2, least(%(failures)s - 1, 6))
        when %(pauses)s > 0 then clock_timestamp()
            + least(least(m.backoff, interval '1 second') * power(2, least(%(pauses)s - 1, 6)), interval '1 minute') end
from dwh.module m
where m.name = t.module and t.id = %(topic_id)s and t.token = %(token)s
