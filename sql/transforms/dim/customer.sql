-- One row per change of a customer; the history is made of them.
select pos, id, customer_id, name, segment, city
from {{ block }}
