-- A module whose file was removed stops; its table and its history stay.
update dwh.module set active = false, removed = true where name = %(name)s
