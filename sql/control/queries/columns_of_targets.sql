-- The columns of every built table that was applied.
select name, columns from dwh.target where columns <> '[]'
