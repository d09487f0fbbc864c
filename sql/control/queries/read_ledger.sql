-- Read which migrations were applied, with the checksum their file had.
-- Returns one row per migration in order, version 0 being the set of views; no row means a new database.
select version, name, checksum from dwh.migration order by version
