-- One row per category.
select
    coalesce(category, 'unknown') as category,
    count(*) as items,
    count(distinct customer_id) as buyers,
    cast(sum(amount) as decimal(18, 2)) as revenue
from {{ block }}
group by coalesce(category, 'unknown')
