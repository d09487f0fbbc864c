-- Attempts of each topic by how they ended. Attempts that loaded nothing are pruned when they are old: then a count falls.
select t.name as topic, e.execution_code as result, count(*) as attempts
from dwh.execution e
join dwh.topic t on t.id = e.topic_id
group by t.name, e.execution_code
order by t.name, e.execution_code
