-- Days that no advice looks at any more.
delete from dwh.lateness where source = %(source)s and day < (now() at time zone 'UTC')::date - %(days)s::integer
