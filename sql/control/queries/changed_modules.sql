-- A number per active module that changes with its blocks: claims, plans and acts by hand each move it.
select m.name as module,
       coalesce(sum(t.token), 0) || '/' || coalesce(max(u.newest), 0) || '/' || coalesce(sum(u.blocks), 0) as state
from dwh.module m
join dwh.topic t on t.module = m.name
left join lateral (
    select max(b.id) as newest, count(*) as blocks
    from dwh.block b where b.topic_id = t.id and b.status in ('planned', 'open', 'parked')
) u on true
where not m.removed and m.kind = 'table'
group by m.name
