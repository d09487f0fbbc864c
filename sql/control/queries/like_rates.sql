-- Base rows a second of a topic, else the median of the topics that read the same base table, else of those with the same processor.
-- Returns one row; null rates mean that nothing like it was loaded yet.
select t.rows_per_second as own,
       (select percentile_cont(0.5) within group (order by o.rows_per_second) from dwh.topic o join dwh.module n on n.name = o.module
        where n.base = m.base and o.rows_per_second > 0) as same_base,
       (select percentile_cont(0.5) within group (order by o.rows_per_second) from dwh.topic o join dwh.module n on n.name = o.module
        where n.processor = m.processor and o.rows_per_second > 0) as same_processor
from dwh.topic t join dwh.module m on m.name = t.module
where t.name = %(topic)s
