-- Rows of a source that were so late, counted for today.
insert into dwh.lateness (source, day, unit, bucket, count)
select name, (now() at time zone 'UTC')::date, %(unit)s, %(bucket)s, %(count)s from dwh.source where name = %(source)s
on conflict (source, day, unit, bucket) do update set count = dwh.lateness.count + excluded.count
