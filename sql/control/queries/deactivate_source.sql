-- A source whose file was removed is no longer observed.
update dwh.source set active = false, removed = true where name = %(name)s
