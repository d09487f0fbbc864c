-- Keep a topic, and the table it is replacing rows of. No row means that the token was superseded.
with kept as (
    update dwh.topic set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    where id = %(topic_id)s and token = %(token)s and lease_worker is not null
    returning id, lease_until
), table_kept as (
    update dwh.target set lease_until = kept.lease_until
    from kept where target.lease_topic = kept.id and target.lease_token = %(token)s
)
select id from kept
