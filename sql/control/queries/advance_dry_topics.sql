-- A topic with nothing to load below its horizon is complete up to it: a quiet dimension does not stall its facts.
update dwh.topic t
set watermark = v.upto
from dwh.verdict v
where v.topic_id = t.id and t.token = v.token
  and v.verdict in ('WAIT_DEP', 'WAIT_DELAY')
  and v.processor not in ('reload', 'range')
  and v.upto > t.watermark
  and v.planned = 0 and v.open_block is null and v.parked_block is null
