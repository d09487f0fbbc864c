-- Let go of the table whose rows this attempt was replacing.
update dwh.target set lease_topic = null, lease_token = null, lease_until = null
where lease_topic = %(topic_id)s and lease_token = %(token)s
