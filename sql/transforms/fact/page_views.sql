-- One row per page view.
select pos, id, session, customer_id, page, campaign
from {{ block }}
