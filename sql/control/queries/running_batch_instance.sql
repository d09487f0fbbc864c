-- The instance of a batch that has not ended, and whether who runs it still renews its lease. No row: none runs.
select id, worker, lease_until > clock_timestamp() as alive from dwh.batch_instance where batch = %(batch)s and execution_code = 'Executing'
