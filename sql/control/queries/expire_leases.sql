-- Let every lease be over now, as if its holder had not renewed it for long, and every pause after a failure. For chaos and tests only.
-- Returns how many leases of topics there were.
with topics as (
    update dwh.topic
    set lease_until = case when lease_until is not null then clock_timestamp() - interval '1 second' end, not_before = null
    where lease_until is not null or not_before is not null
    returning lease_until
), tables as (
    update dwh.target set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null
), batches as (
    update dwh.batch_instance set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null
)
select count(lease_until) as leases from topics
