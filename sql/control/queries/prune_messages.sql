-- Delete messages that are older than the retention of their topics.
delete from dwh.message where at < clock_timestamp() - make_interval(secs => %(seconds)s)
