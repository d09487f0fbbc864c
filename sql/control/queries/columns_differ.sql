-- Whether a built table has other columns or audit columns than were noted. No row means that nothing is new.
select name from dwh.target
where name = %(name)s and (columns, audit_columns) is distinct from (%(columns)s::jsonb, %(audit)s::text[])
