-- The active topics that read a topic's table and are beyond a position: they would never look below it again. Null where none is.
select array_agg(r.name order by r.name) as readers
from dwh.topic t
join dwh.module_dependency d on d.table_name = t.target
join dwh.module m on m.name = d.module and m.active
join dwh.topic r on r.module = m.name and r.active
where t.id = %(topic_id)s and r.watermark > %(pos)s and r.watermark > '0001-01-02'
