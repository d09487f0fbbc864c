-- The clock of the control store: ages are counted by it. Always one row.
select clock_timestamp() as now
