-- Count a failure or a crash of a restatement; after the last allowed one it has failed. Returns its status and its failures.
with held as (
    select r.id, %(park)s or r.attempts + %(failures)s >= m.attempts or r.crashes + %(crashes)s >= 10 * m.attempts as worn_out
    from dwh.restatement r join dwh.topic t on t.id = r.topic_id join dwh.module m on m.name = t.module
    where r.id = %(id)s
)
update dwh.restatement r
set attempts = r.attempts + %(failures)s, crashes = r.crashes + %(crashes)s,
    status = case when held.worn_out then 'failed' else r.status end,
    ended_at = case when held.worn_out then clock_timestamp() end
from held
where r.id = held.id
returning r.status, r.attempts as failures
