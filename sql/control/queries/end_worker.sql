-- This worker ends in order; runs that it still had are free to be judged as lost.
update dwh.worker set ended_at = clock_timestamp(), seen_at = '-infinity' where name = %(worker)s
