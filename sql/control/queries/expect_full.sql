-- A whole block of events is waiting, so the topic does not wait for its next regular run.
update dwh.topic set last_full = true where name = %(topic)s and not last_full
