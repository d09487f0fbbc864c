-- A block is done. Its own figures stay with it.
update dwh.block
set status = 'committed', committed_at = clock_timestamp(), base_rows = %(base_rows)s, hash_sum = %(hash_sum)s, late_rows = 0
where id = %(block_id)s
