-- The sources that the Lineage names.
select name, spec from dwh.source where not removed order by name
