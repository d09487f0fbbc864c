-- From now on the topic comes after the others, until a block of it takes all there is. One that is backfilled already stays.
update dwh.topic set backfill_at = clock_timestamp(), backfill_rows = %(rows)s
where id = %(topic_id)s and backfill_at is null
