-- How far each source is behind the clock, when it was last looked at, and whether that failed. One row per source that is in use.
select name as source,
       case when watermark > '0001-01-02' then extract(epoch from greatest(now() - watermark, interval '0'))::float8 end as lag,
       extract(epoch from now() - seen_at)::float8 as seen,
       (problem is not null)::int as problem
from dwh.source
where active and not removed
order by name
