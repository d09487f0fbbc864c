-- Who else is replacing rows of a table, so that a commit to it waits (lock_target). No row means that nobody is.
select lease_topic from dwh.target
where name = %(target)s and lease_until >= clock_timestamp()
  and (lease_topic, lease_token) is distinct from (%(topic_id)s, %(token)s)
