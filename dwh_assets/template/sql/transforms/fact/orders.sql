-- One SELECT over the rows of the block. It must give the position of each row, pos and id.
select pos, id, order_id, ordered_at, customer, product, quantity, cast(quantity * price as decimal(12, 2)) as amount
from {{ block }}
