-- Give a topic its first cursor, once. No row means that it has one already.
update dwh.topic
set last_pos = %(pos)s, last_id = %(id)s, watermark = %(watermark)s, examined = null
where id = %(topic_id)s and last_pos is null
returning id
