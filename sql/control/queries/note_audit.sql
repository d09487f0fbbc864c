-- Keep what an audit of a block found, and what it learned of its base rows. Returns the block; no row means that its rows were written
-- by another execution meanwhile: then nothing that was found is true of them.
update dwh.load_stat
set audited_at = clock_timestamp(), audit_found = %(found)s, base_content = %(content)s, base_hashed = %(hashed)s, base_files = %(files)s
where block_id = %(block_id)s and execution_id = %(execution_id)s
returning block_id
