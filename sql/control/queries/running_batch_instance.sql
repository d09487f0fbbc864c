-- The instance of a batch that has not ended; lost ones were ended before. No row: none runs.
select id, worker from dwh.batch_instance where batch = %(batch)s and execution_code = 'Executing'
