-- The names of all batches in force. Returns nothing where there are none.
select name from dwh.batch where not removed order by name
