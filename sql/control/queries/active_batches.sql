-- The batches in force. Returns nothing where there are none.
select name, spec from dwh.batch where not removed order by name
