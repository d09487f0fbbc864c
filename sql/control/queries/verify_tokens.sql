-- Attempts that run under a token that is not their topic's newest, or beyond it (I4). No row means that all is well.
select 'I4' as invariant, t.name as topic, e.block_id, format('execution %s has token %s, its topic %s', e.id, e.token, t.token) as text
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where e.token > t.token or (e.execution_code = 'Executing' and e.token <> t.token)
