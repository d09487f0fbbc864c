-- How far a topic was told to be complete. Its row is locked by the caller.
select watermark from dwh.topic where id = %(topic_id)s
