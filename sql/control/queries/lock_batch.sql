-- Lock one batch in force for the beginning of a run or an act by hand, with the database's clock. No row: there is no such batch.
select b.*, clock_timestamp() as now from dwh.batch b where b.name = %(batch)s and not b.removed for update
