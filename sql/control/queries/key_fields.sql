-- The fields that the ids in an ingest's table were made of; null before its first block.
select key_fields from dwh.topic where id = %(topic_id)s
