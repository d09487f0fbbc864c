-- Attempts and committed blocks that do not explain each other (I6). No row means that every attempt is explained.
select 'I6' as invariant, t.name as topic, e.block_id,
       format('execution %s is Executing, but nobody holds the topic', e.id) as text
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where e.execution_code = 'Executing' and t.lease_worker is null
union all
select 'I6', t.name, b.id, format('the block is %s but has %s successful executions', b.status, count(e.id))
from dwh.block b
join dwh.topic t on t.id = b.topic_id
left join dwh.execution e on e.block_id = b.id and e.execution_code = 'Succeeded'
where b.kind = 'load' and b.status in ('committed', 'stale')
group by t.name, b.id, b.status
having count(e.id) <> 1
union all
select 'I6', t.name, b.id, 'the block is committed but has no statistics'
from dwh.block b join dwh.topic t on t.id = b.topic_id
where b.kind = 'load' and b.status in ('committed', 'stale') and not exists (select from dwh.load_stat s where s.block_id = b.id)
