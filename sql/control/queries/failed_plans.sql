-- Topics whose last planning failed while rows may wait that no block is planned for, and why. No row: nothing waits for a plan.
select t.name as topic, t.problem
from dwh.topic t
join dwh.verdict v on v.topic_id = t.id
where t.failures > 0 and v.unexamined and v.verdict <> 'INACTIVE'
order by t.name
