-- The fields that the ids in an ingest's table are made of from now on.
update dwh.topic set key_fields = %(key)s where id = %(topic_id)s and key_fields is distinct from %(key)s
