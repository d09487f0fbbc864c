-- Count a failure of a block; after the last allowed one it is parked. Returns its status and its failures.
update dwh.block b
set failures = b.failures + %(failures)s, crashes = b.crashes + %(crashes)s,
    status = case when %(park)s or b.failures + %(failures)s >= m.attempts or b.crashes + %(crashes)s >= 10 * m.attempts
                  then 'parked' else b.status end
from dwh.topic t join dwh.module m on m.name = t.module
where b.id = %(block_id)s and t.id = b.topic_id
returning b.status, b.failures, b.crashes
