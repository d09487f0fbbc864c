-- How many blocks of each topic are in each state; history that was rolled back is not counted. Nothing where there are none.
select t.name as topic, b.status as state, count(*) as blocks
from dwh.block b
join dwh.topic t on t.id = b.topic_id
where b.kind <> 'start' and b.status <> 'void'
group by t.name, b.status
order by t.name, b.status
