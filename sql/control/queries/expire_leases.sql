-- Let every lease be over now, as if its holder had not renewed it for long. For chaos and tests only.
-- Returns how many leases of topics there were.
with topics as (
    update dwh.topic set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null returning 1
), tables as (
    update dwh.target set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null
), batches as (
    update dwh.batch_instance set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null
)
select count(*) as leases from topics
