-- Count a failure of a restatement; after the last allowed one it has failed. Returns its status and its failures.
update dwh.restatement r
set attempts = r.attempts + %(failures)s,
    status = case when %(park)s or r.attempts + %(failures)s >= m.attempts then 'failed' else r.status end,
    ended_at = case when %(park)s or r.attempts + %(failures)s >= m.attempts then clock_timestamp() end
from dwh.topic t join dwh.module m on m.name = t.module
where r.id = %(id)s and t.id = r.topic_id
returning r.status, r.attempts as failures
