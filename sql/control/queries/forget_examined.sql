-- Let the topic be searched again from the end of its last block.
update dwh.topic set examined = null where id = %(topic_id)s
