-- Alerts did not arrive at a target: they wait, longer each time, up to an hour.
update dwh.alert_delivery d
set problem = %(problem)s, next_try = clock_timestamp() + least(interval '15 seconds' * power(2, least(d.attempts, 10) - 1), interval '1 hour')
from unnest(%(alerts)s::bigint[], %(held)s::timestamptz[]) as c (alert_id, held_until)
where d.alert_id = c.alert_id and d.target = %(target)s and d.next_try = c.held_until
