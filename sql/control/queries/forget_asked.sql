-- What a person asked of the topic's next run is done with; that counts as a run, so that `repeat` begins anew.
update dwh.topic set next_run_code = 'Proceed', last_end = clock_timestamp() where id = %(topic_id)s
