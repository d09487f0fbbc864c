-- Hold a table while its rows are replaced: appends and other replacing writes wait. No row means that another one holds it.
update dwh.target set lease_topic = %(topic_id)s, lease_token = %(token)s, lease_until = t.lease_until
from dwh.topic t
where target.name = %(target)s and t.id = %(topic_id)s and t.token = %(token)s
  and (target.lease_until is null or target.lease_until < clock_timestamp()
       or target.lease_topic = %(topic_id)s)   -- an earlier holder of this topic is superseded, on this table too
returning target.name
