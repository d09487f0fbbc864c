-- What one block could not load for one reason.
insert into dwh.dead_letter (block_id, reason, rows) values (%(block_id)s, %(reason)s, %(rows)s)
