-- Leave a block out: it keeps its place in the tiling, its rows are not loaded.
update dwh.block set status = 'skipped', kind = 'skip', committed_at = clock_timestamp() where id = %(block_id)s
