-- How late the rows of each source were in so many days, today included. Nothing where no row was seen to arrive.
select source, unit, bucket, sum(count)::bigint as count
from dwh.lateness
where day > (now() at time zone 'UTC')::date - %(days)s::integer
group by source, unit, bucket
order by source, unit, bucket
