-- One row per current customer; the view customer_today is made before each load.
with bought as (
    select customer_id, count(*) as items, sum(amount) as revenue, max(pos) as last_sale
    from fact.sales
    where customer_id is not null
    group by customer_id
),

paid as (
    select customer_id, sum(amount) as paid
    from fact.payments
    where status = 'captured'
    group by customer_id
)

select
    c.customer_id,
    c.name,
    c.segment,
    c.city,
    coalesce(b.items, 0) as items,
    cast(coalesce(b.revenue, 0) as decimal(18, 2)) as revenue,
    cast(coalesce(p.paid, 0) as decimal(18, 2)) as paid_online,
    b.last_sale
from customer_today as c
left join bought as b on b.customer_id = c.customer_id
left join paid as p on p.customer_id = c.customer_id
