-- This worker ends in order; what it still had is given to another.
update dwh.worker set ended_at = clock_timestamp() where id = %(id)s and ended_at is null
