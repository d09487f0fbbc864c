-- Blocks of a module that were begun and are not done. No row means that its base may change.
select b.id, b.status, t.name as topic
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.module = %(module)s and b.status in ('open', 'parked')
