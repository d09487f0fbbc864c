-- Let a topic rest. Returns one row: who holds its lease and finishes a block, or null.
update dwh.topic set paused = %(reason)s, paused_at = clock_timestamp(), paused_by = %(who)s
where id = %(topic_id)s
returning case when lease_until > clock_timestamp() then lease_worker end as holder
