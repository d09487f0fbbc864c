-- A number that rises with every change of the Lineage in force.
select (select count(*) from dwh.module_version) + (select count(*) from dwh.parameter_version) as version
