-- The newest partitions of a module in the order in which they were planned; empty before its first plan.
select p.*
from dwh.topic t
cross join lateral (select * from dwh.partition p where p.tile = t.id order by p.seq desc limit %(limit)s) p
where t.module = %(module)s
order by p.id
