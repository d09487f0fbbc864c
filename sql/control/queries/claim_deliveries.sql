-- Take the alerts that one target is to be told now, and hold them for a while: nobody else takes them meanwhile.
-- Due is what never arrived, and what arrived longer than `repeat` ago and is not resolved. Returns nothing when nothing is due.
with waiting as (
    select alert_id from dwh.alert_delivery where target = %(target)s and sent_at is null
    union
    select id from dwh.alert where resolved_at is null and %(repeat)s::interval is not null
),
due as (
    select d.alert_id
    from dwh.alert_delivery d
    join dwh.alert a on a.id = d.alert_id
    where d.target = %(target)s and d.alert_id in (select alert_id from waiting) and coalesce(d.next_try <= now(), true)
      and (d.sent_at is null or (a.resolved_at is null and d.sent_at + %(repeat)s::interval <= now()))
    order by d.alert_id
    limit %(limit)s
    for update of d skip locked
)
update dwh.alert_delivery d
set next_try = clock_timestamp() + %(hold)s, attempts = case when d.next_try is null then 1 else d.attempts + 1 end
from due, dwh.alert a
where d.alert_id = due.alert_id and d.target = %(target)s and a.id = d.alert_id
returning d.next_try as held_until, a.id, a.kind, a.key, a.topic, a.block_id, a.severity, a.text, a.raised_at, a.resolved_at
