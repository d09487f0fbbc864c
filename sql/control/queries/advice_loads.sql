-- What the blocks of each topic were like in so many days. One row for each topic that is loaded; without blocks the figures are null.
select t.name as topic, t.module, t.rows_per_second, coalesce(l.blocks, 0) as blocks, coalesce(l.full_blocks, 0) as full_blocks,
       l.seconds, l.rows_95, coalesce(l.rows, 0)::bigint as rows
from dwh.topic t
join dwh.module m on m.name = t.module and m.kind = 'table' and m.active
left join lateral (
    select count(*) as blocks, count(*) filter (where not b.takes_all) as full_blocks,
           percentile_cont(0.5) within group (order by s.seconds) as seconds,
           percentile_cont(0.95) within group (order by b.base_rows) as rows_95,
           sum(b.base_rows) as rows
    from dwh.load_stat s join dwh.block b on b.id = s.block_id
    where s.topic_id = t.id and s.loaded_at > now() - make_interval(days => %(days)s)
) l on true
where t.active
order by t.name
