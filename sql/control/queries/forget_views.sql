-- Remove the ledger row of the views, so that they are made again after the migration that runs now.
-- Returns nothing; no row changed means that there were none.
delete from dwh.migration where version = 0
