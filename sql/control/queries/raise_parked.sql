-- An alert for each time that a block was parked, or a restatement given up: of the last day, and of blocks that are parked still.
-- A block that its check parked is one alert, not two. The text of a failed check is made in dwh_assets/engine/check.py.
-- A restatement that was given up is over as it is told: nothing waits for it.
insert into dwh.alert (kind, key, topic, block_id, severity, text, resolved_at)
select case when e.text ~ '^topic [^\n]*: check [^\n]* failed: ' then 'check_failed' else 'block_parked' end,
       'parked:' || e.id, e.topic, e.block_id, 'error',
       case when e.text like 'topic %' then e.text
            when x.restatement_id is not null then format('topic %s, restatement %s was given up: %s', e.topic, x.restatement_id, e.text)
            else format(E'topic %s, block #%s is parked: %s\nLook with `dwh block %s`, then `dwh retry %s` or `dwh skip %s`, each with --reason.',
                        e.topic, e.block_id, e.text, e.block_id, e.topic, e.topic) end,
       case when x.restatement_id is not null then now() end
from dwh.event_log e
left join dwh.execution x on x.id = e.execution_id
where e.code = 'PARKED'
  and (e.at > now() - interval '1 day' or e.block_id in (select id from dwh.block where status = 'parked'))
  and not exists (select from dwh.alert a where a.key = 'parked:' || e.id)
order by e.id
on conflict (key) do nothing
