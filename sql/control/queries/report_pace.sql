-- How busy the warehouse is: rows and blocks committed in the last minute, workers that are online, and those of them that are at it.
-- Returns one row.
select (select coalesce(sum(rows), 0)::bigint from dwh.load_stat where loaded_at > clock_timestamp() - interval '1 minute') as rows,
       (select count(*) from dwh.load_stat where loaded_at > clock_timestamp() - interval '1 minute') as blocks,
       (select count(*) from ems.etl_instances where status = 'online') as workers,
       (select count(*) from ems.etl_instances where status = 'online' and state = 'busy') as busy
