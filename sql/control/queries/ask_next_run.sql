-- What a person asks of the next run of a topic.
update dwh.topic set next_run_code = %(code)s where id = %(topic_id)s
