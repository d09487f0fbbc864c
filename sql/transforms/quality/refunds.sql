-- Refunds as the provider sends them, reasons in capitals as finance wants them.
select pos, id, refund_no, order_id, amount, upper(reason) as reason
from {{ block }}
