-- Items sold at the tills, in the same columns as the web shop's.
select
    r.pos,
    r.id,
    'shop' as channel,
    r.shop,
    r.receipt_no as order_no,
    r.customer_id,
    c.segment,
    c.city,
    r.product_id,
    p.category,
    r.quantity,
    cast(r.paid as decimal(12, 2)) as amount
from {{ block }} as r
left join dim.customer as c
    on c.customer_id = r.customer_id
    and c.valid_from <= r.pos
    and (c.valid_to is null or r.pos < c.valid_to)
left join dim.product as p on p.product_id = r.product_id
