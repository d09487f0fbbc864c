-- Hold the generations of the inputs still until this commit is done.
select name from dwh.target where name = any (%(inputs)s) order by name for share
