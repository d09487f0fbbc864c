-- Alerts that are open or of the last day, or all of them, newest last, each with what became of it at its targets.
-- Nothing means that there was nothing to tell.
select a.id, a.kind, a.severity, a.topic, a.block_id, a.key, a.text, a.raised_at, a.resolved_at,
       (select coalesce(jsonb_object_agg(d.target, jsonb_build_object('sent_at', d.sent_at, 'attempts', d.attempts, 'problem', d.problem,
                                                                      'next_try', d.next_try)), '{}')
        from dwh.alert_delivery d where d.alert_id = a.id) as deliveries
from dwh.alert a
where (%(topics)s::text[] is null or a.topic = any (%(topics)s))
  and (%(everything)s or a.resolved_at is null or a.raised_at > now() - interval '1 day')
order by a.raised_at, a.id
