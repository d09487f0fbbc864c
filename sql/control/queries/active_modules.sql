-- The Lineage that is in force.
select name, version, spec from dwh.module where not removed order by name
