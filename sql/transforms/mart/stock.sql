-- The newest move tells how much is left.
select pos, id, region, product_id, product, stock_after as stock
from {{ block }}
