-- Modules as they are now, with their versions. One that is not returned does not exist.
select name, version, spec from dwh.module where name = any (%(names)s)
