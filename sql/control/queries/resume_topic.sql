-- A topic that rested goes on where it was.
update dwh.topic set paused = null, paused_at = null, paused_by = null where id = %(topic_id)s
