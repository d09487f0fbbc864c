-- Time spent per table in the last 30 days, the dearest first: all attempts, what failed ones cost, rows and speed.
-- `share` is the table's part of all time spent. What runs now counts up to now.
create view dwh.report_time_spent as
select t.target as table_name,
       count(*) as attempts,
       count(*) filter (where e.execution_code = 'Failed') as failed,
       sum(e.took) as spent,
       coalesce(sum(e.took) filter (where e.execution_code in ('Failed', 'Aborted', 'Cancelled')), interval '0') as lost,
       round((extract(epoch from sum(e.took)) / nullif(sum(sum(extract(epoch from e.took))) over (), 0))::numeric, 4) as share,
       avg(e.took) filter (where e.execution_code = 'Succeeded') as average,
       max(e.took) as longest,
       sum(e.rows)::bigint as rows,
       round((sum(e.rows) / nullif(extract(epoch from sum(e.took) filter (where e.execution_code = 'Succeeded')), 0))::numeric)
           as rows_per_second
from (
    select x.topic_id, x.execution_code, coalesce(x.ended_at, now()) - x.started_at as took,
           case when x.execution_code = 'Succeeded' then x.rows_inserted + x.rows_updated else 0 end as rows
    from dwh.execution x
    where x.started_at > now() - interval '30 days'
) e
join dwh.topic t on t.id = e.topic_id
group by t.target
order by spent desc;
comment on view dwh.report_time_spent is 'time spent per table in the last 30 days, and what failed attempts cost';
comment on column dwh.report_time_spent.table_name is 'name of the table: db.table';
comment on column dwh.report_time_spent.attempts is 'how many attempts there were';
comment on column dwh.report_time_spent.failed is 'how many of them failed';
comment on column dwh.report_time_spent.spent is 'time of all attempts';
comment on column dwh.report_time_spent.lost is 'time of those that did not succeed';
comment on column dwh.report_time_spent.share is 'its part of all time spent, 0 to 1';
comment on column dwh.report_time_spent.average is 'mean time of a success';
comment on column dwh.report_time_spent.longest is 'longest attempt';
comment on column dwh.report_time_spent.rows is 'rows that successes wrote';
comment on column dwh.report_time_spent.rows_per_second is 'rows a second of successes';
