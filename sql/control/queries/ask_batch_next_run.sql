-- What a person asks of the next run of a batch.
update dwh.batch set next_run_code = %(code)s where name = %(batch)s
