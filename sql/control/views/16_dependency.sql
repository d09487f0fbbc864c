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
comment on view dwh.dependency is 'the extremes of what each topic waits for';
comment on column dwh.dependency.topic_id is 'number of the topic';
comment on column dwh.dependency.least is 'how far the least complete dependency is';
comment on column dwh.dependency.is_unknown is 'true: nothing is known of at least one of them';
comment on column dwh.dependency.newest is 'an upper bound of the positions of the base table';
comment on column dwh.dependency.slowest is 'the dependency that is least complete';
comment on column dwh.dependency.unknown is 'those of which nothing is known';
