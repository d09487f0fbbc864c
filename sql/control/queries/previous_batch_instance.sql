-- The newest instance of a batch that did run: Cancelled and Aborted ones hide nothing (D6). No row: it never ran.
select id, execution_code, succeeded from dwh.batch_instance
where batch = %(batch)s and execution_code in ('Succeeded', 'Failed') order by id desc limit 1
