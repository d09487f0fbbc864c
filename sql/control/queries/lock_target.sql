-- Lock the output table's row for this commit. No row means that someone else is replacing its rows: wait and try again.
select name from dwh.target
where name = %(target)s
  and (lease_until is null or lease_until < clock_timestamp() or (lease_topic = %(topic_id)s and lease_token = %(token)s))
for update
