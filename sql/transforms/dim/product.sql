-- The newest row per product wins.
select pos, id, product_id, name, category, list_price
from {{ block }}
