-- Attempts whose branches must stay: those that run, and the last one of each parked block.
select id from dwh.execution where execution_code = 'Executing'
union
select max(e.id) from dwh.execution e join dwh.block b on b.id = e.block_id where b.status = 'parked' group by b.id
