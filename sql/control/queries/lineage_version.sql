-- A number that rises with every change of the Lineage in force.
select count(*) as version from dwh.module_version
