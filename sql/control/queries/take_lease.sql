-- Take the topic: the token rises, so that every earlier holder can change nothing any more.
update dwh.topic
set token = token + 1, lease_worker = %(worker)s, lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(topic_id)s
returning token
