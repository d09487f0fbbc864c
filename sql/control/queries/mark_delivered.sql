-- Alerts arrived at a target; only who still holds them may say so.
update dwh.alert_delivery d
set sent_at = clock_timestamp(), next_try = null, problem = null
from unnest(%(alerts)s::bigint[], %(held)s::timestamptz[]) as c (alert_id, held_until)
where d.alert_id = c.alert_id and d.target = %(target)s and d.next_try = c.held_until
