-- Moves with the product's name as it is known when they are loaded; nothing waits for the catalogue.
select m.pos, m.id, m.region, m.product_id, p.name as product, m.quantity, m.stock_after, m.reason
from {{ block }} as m
left join dim.product as p on p.product_id = m.product_id
