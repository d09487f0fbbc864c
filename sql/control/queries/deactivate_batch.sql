-- A batch whose file was removed stops; its instances stay.
update dwh.batch set active = false, removed = true where name = %(name)s
