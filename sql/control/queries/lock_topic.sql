-- Lock one topic for a claim or an act by hand. No row means that there is no such topic.
select t.*, m.version as module_version, m.spec, m.attempts as attempts_allowed
from dwh.topic t join dwh.module m on m.name = t.module
where t.name = %(topic)s
for update of t
