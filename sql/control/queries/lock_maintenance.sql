-- The guard of what a job publishes: it is this worker's still. No row means that it was ended as lost, and must publish nothing.
select id from dwh.maintenance where id = %(id)s and ended_at is null for update
