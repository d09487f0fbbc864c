-- How much was done in this database: committed blocks, and attempts at any.
select (select count(*) from dwh.block where status = 'committed' and seq > 0) as blocks,
       (select count(*) from dwh.execution) as attempts
