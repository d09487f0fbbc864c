-- The columns of a built table, as the apply left them.
update dwh.target set columns = %(columns)s where name = %(name)s and columns is distinct from %(columns)s::jsonb
