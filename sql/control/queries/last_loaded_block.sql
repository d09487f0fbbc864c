-- The topic's last block that holds rows. No row means that nothing of it was loaded yet.
select * from dwh.block
where topic_id = %(topic_id)s and kind = 'load' and status in ('committed', 'stale') and expired_at is null
order by seq desc limit 1
