-- Whether this database has a ledger of migrations that this login may see.
-- Always returns one row.
select to_regclass('dwh.migration') is not null as found
