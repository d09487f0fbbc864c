-- The parameters that hold for all, by name. No row means that there are none.
select name, type, value, description from dwh.parameter where batch is null and module is null order by name
