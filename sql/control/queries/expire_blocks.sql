-- The rows of these blocks are gone from their table: they were kept as long as their module says.
update dwh.block set expired_at = clock_timestamp() where id = any (%(ids)s::bigint[]) and expired_at is null
