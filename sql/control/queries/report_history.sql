-- What the newest 20 blocks of each topic were like, and since when one is being loaded. One row for each topic that is loaded.
-- `seconds` and `apart` are medians: how long a block took, and how long after the one before it was loaded.
select t.name as topic, coalesce(h.blocks, 0) as blocks, h.seconds, h.apart,
       (select e.started_at from dwh.execution e where e.topic_id = t.id and e.execution_code = 'Executing') as begun_at
from dwh.topic t
join dwh.module m on m.name = t.module and m.kind = 'table'
left join lateral (
    select count(*) as blocks, percentile_cont(0.5) within group (order by n.seconds) as seconds,
           extract(epoch from percentile_cont(0.5) within group (order by n.apart))::float8 as apart
    from (
        select s.seconds, s.loaded_at - lag(s.loaded_at) over (order by s.loaded_at) as apart
        from dwh.load_stat s where s.topic_id = t.id order by s.loaded_at desc limit 20
    ) n
) h on true
where t.active
