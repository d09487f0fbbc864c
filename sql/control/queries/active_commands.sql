-- The modules in force that are commands, not tables. Returns nothing where there are none.
select name, spec from dwh.module where not removed and kind <> 'table' order by name
