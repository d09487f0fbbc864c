-- Items of the web shop with the customer as of the sale. A voucher takes 10 percent off.
select
    o.pos,
    o.id,
    'web' as channel,
    cast(null as string) as shop,
    cast(o.order_id as string) as order_no,
    o.customer_id,
    c.segment,
    c.city,
    o.product_id,
    p.category,
    o.quantity,
    cast(o.quantity * o.unit_price * case when o.voucher is null then 1.0 else 0.9 end as decimal(12, 2)) as amount
from {{ block }} as o
left join dim.customer as c
    on c.customer_id = o.customer_id
    and c.valid_from <= o.pos
    and (c.valid_to is null or o.pos < c.valid_to)
left join dim.product as p on p.product_id = o.product_id
