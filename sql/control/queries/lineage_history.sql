-- Every version of the modules, newest first: who changed what, and when. Nothing where the name is unknown.
select module, version, changed_by, changed_at, place, spec
from dwh.module_version
where %(name)s::text is null or module = %(name)s
order by changed_at desc, module, version desc
