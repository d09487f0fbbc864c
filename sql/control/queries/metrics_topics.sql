-- What is measured of each topic now; the verdict's text is not asked for, it would cost more than the rest. One row per topic.
select v.topic, v.area, v.verdict,
       case when v.watermark > '0001-01-02' then extract(epoch from greatest(now() - v.watermark, interval '0'))::float8 end as lag,
       coalesce(v.pending_rows, 0)::bigint as pending_rows,
       case when v.verdict <> 'INACTIVE' then extract(epoch from m.promise)::float8 end as promise
from dwh.verdict v
join dwh.module m on m.name = v.module
where not m.removed
order by v.topic
