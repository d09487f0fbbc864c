-- The extremes of what each topic waits for: how far the least of it is complete, which that is, and of what nothing is known.
create view dwh.dependency as
select a.topic_id,
       min(a.watermark) as least,
       bool_or(a.watermark is null) as is_unknown,
       max(a.newest) filter (where a.ordinal = 0) as newest,
       (array_agg(a.table_name order by a.watermark, a.ordinal))[1] as slowest,
       array_agg(a.table_name) filter (where a.watermark is null) as unknown
from dwh.awaited a
group by a.topic_id;
