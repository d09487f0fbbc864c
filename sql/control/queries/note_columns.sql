-- The columns of a built table and its audit columns, as the apply left them. No row changed means that there is no such table.
update dwh.target set columns = %(columns)s, audit_columns = %(audit)s where name = %(name)s
