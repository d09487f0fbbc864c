-- Payments as they are, without what only the provider needs.
select paid_at, payment_id, order_id, customer_id, cast(amount as decimal(12, 2)) as amount, method, status
from {{ block }}
