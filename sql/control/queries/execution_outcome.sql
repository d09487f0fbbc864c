-- What became of an attempt: asked after a lost connection, when the commit may or may not have happened (R8).
select execution_code from dwh.execution where id = %(execution_id)s
