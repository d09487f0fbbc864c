-- Every page view; the processor keeps the first of each visit.
select pos, id, session, customer_id, page as landing_page, campaign
from {{ block }}
