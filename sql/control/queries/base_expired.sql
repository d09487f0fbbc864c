-- Up to where rows of a topic's base were kept long enough and are gone, and who would miss them. `upto` is null where none are.
select m.base, m.processor,
       (select max(x.next_pos) from dwh.topic u join dwh.block x on x.topic_id = u.id and x.expired_at is not null and x.status <> 'void'
        where u.target = m.base) as upto
from dwh.topic t join dwh.module m on m.name = t.module
where t.id = %(topic_id)s
