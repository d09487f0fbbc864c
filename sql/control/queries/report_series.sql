-- The newest blocks of the tables that were loaded most recently: when, rows, nulls, seconds and lag of each, in order.
-- Nothing means that nothing was loaded yet.
with recent as (
    select t.target, max(n.loaded_at) as loaded_at
    from dwh.topic t
    cross join lateral (select s.loaded_at from dwh.load_stat s where s.topic_id = t.id order by s.loaded_at desc limit 1) n
    group by t.target
    order by 2 desc
    limit %(tables)s
)
select r.target as table_name, b.loaded_at, b.rows, b.nulls, b.seconds, b.lag_seconds
from recent r
cross join lateral (
    select s.loaded_at, s.rows, s.seconds, extract(epoch from s.lag)::float8 as lag_seconds,
           coalesce((select sum(n.value::bigint) from jsonb_each_text(s.nulls) n), 0)::bigint as nulls
    from dwh.topic t
    join dwh.load_stat s on s.topic_id = t.id
    where t.target = r.target
    order by s.loaded_at desc
    limit %(blocks)s
) b
order by r.target, b.loaded_at
