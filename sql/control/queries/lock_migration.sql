-- Wait until no other process migrates this database; the end of the transaction frees it.
-- Returns one row without meaning.
select pg_advisory_xact_lock(hashtextextended('dwh.migration', 0))
