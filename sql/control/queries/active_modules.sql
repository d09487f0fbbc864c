-- The tables that are built, as the Lineage in force says.
select name, version, spec from dwh.module where not removed and kind = 'table' order by name
