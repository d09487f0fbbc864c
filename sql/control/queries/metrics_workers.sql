-- Workers by state: idle and busy while they are online, else unknown or offline; those that ended in order are not counted.
-- One row per state, also where there is none.
select s.state, count(i.instance_id) as workers
from unnest(array['idle', 'busy', 'unknown', 'offline']) s(state)
left join ems.etl_instances i on i.ended_at is null and s.state = case i.status when 'online' then i.state else i.status end
group by s.state
order by s.state
