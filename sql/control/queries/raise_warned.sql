-- An alert for each check that failed as a warning, of blocks committed in the last day; blocks restated together share one.
-- It is over as it is told. A blocking check that failed in a committed block was released by a person: that is no alert.
insert into dwh.alert (kind, key, topic, block_id, severity, text, resolved_at)
select distinct on (s.execution_id, c.name)
       'check_warned', format('warned:%s:%s', s.execution_id, c.name), t.name, s.block_id, 'warn',
       format('topic %s, block #%s: check %s failed: %s; it only warns, the block was committed', t.name, s.block_id, c.name, c.text),
       now()
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id
cross join jsonb_to_recordset(s.checks) as c (name text, severity text, passed boolean, text text)
where s.checks @> '[{"passed": false}]' and s.loaded_at > now() - interval '1 day'
  and c.severity = 'warn' and not c.passed
  and not exists (select from dwh.alert a where a.key = format('warned:%s:%s', s.execution_id, c.name))
order by s.execution_id, c.name, s.block_id
on conflict (key) do nothing
