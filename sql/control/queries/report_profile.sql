-- What was counted of a table's newest blocks, or of its newest days (by the end of a block), oldest first: rows, nulls by column,
-- positions, measures. Days hold the sums and the extremes of their blocks. Nothing means that nothing was loaded yet.
with block as (
    select b.id, b.next_pos, t.name as topic, s.rows, s.bytes, s.nulls, s.measures, s.min_pos, s.max_pos, s.max_id, s.loaded_at
    from dwh.load_stat s
    join dwh.block b on b.id = s.block_id
    join dwh.topic t on t.id = s.topic_id
    where t.name = any (%(topics)s) and b.status in ('committed', 'stale')
      and (not %(by_day)s or b.next_pos >= (select max(n.next_pos) from dwh.block n join dwh.topic x on x.id = n.topic_id
                                             where x.name = any (%(topics)s) and n.status in ('committed', 'stale'))
                                            - make_interval(days => %(limit)s))
    order by b.next_pos desc, b.next_id desc
    limit case when %(by_day)s then null else %(limit)s end
),
bucket as (
    select case when %(by_day)s then (next_pos at time zone 'UTC')::date::text else '#' || id end as name, * from block
),
counted as (
    select name, 'nulls' as kind, n.key, sum(n.value::numeric) as value from bucket, jsonb_each_text(nulls) n group by name, n.key
    union all
    select name, 'measures', n.key, sum(n.value::numeric) from bucket, jsonb_each_text(measures) n
    where n.value ~ '^-?[0-9.]+([eE][-+]?[0-9]+)?$' group by name, n.key
)
select b.name, count(*) as blocks, sum(b.rows)::bigint as rows, sum(b.bytes)::bigint as bytes,
       min(b.min_pos) as min_pos, max(b.max_pos) as max_pos, max(b.max_id) as max_id, max(b.loaded_at) as loaded_at,
       coalesce((select jsonb_object_agg(c.key, c.value) from counted c where c.name = b.name and c.kind = 'nulls'), '{}') as nulls,
       coalesce((select jsonb_object_agg(c.key, c.value) from counted c where c.name = b.name and c.kind = 'measures'), '{}') as measures
from bucket b
group by b.name
order by max(b.next_pos), max(b.id)
