-- The columns of a built table and its audit columns, as the apply left them. No row changed means that nothing is new.
update dwh.target set columns = %(columns)s, audit_columns = %(audit)s
where name = %(name)s and (columns, audit_columns) is distinct from (%(columns)s::jsonb, %(audit)s::text[])
