-- The topics that a name stands for: a topic itself, or all topics of a module or of a table. Nothing where it is unknown.
select t.name as topic
from dwh.topic t
join dwh.module m on m.name = t.module
where %(name)s in (t.name, t.module, t.target) and (t.name = %(name)s or (t.active and not m.removed))
order by t.name
