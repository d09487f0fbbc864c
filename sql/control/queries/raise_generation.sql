-- Rows of a table were replaced: attempts that read it before must not commit.
update dwh.target set generation = generation + 1 where name = %(target)s
