-- Jobs that someone works at: their branches must stay. No row means that none runs.
select id from dwh.maintenance where ended_at is null and lease_until >= clock_timestamp()
