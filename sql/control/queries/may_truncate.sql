-- Whether the file of a table allows that it is emptied. No row means that there is no such table.
select allow_truncate from dwh.target where name = %(target)s
