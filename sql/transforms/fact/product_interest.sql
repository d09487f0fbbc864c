-- One row per event of the web shop.
select pos, id, event_id, happened, product_id, kind, session, device
from {{ block }}
