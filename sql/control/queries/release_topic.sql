-- Let go of a topic, whoever held it, and forget its back-off.
update dwh.topic set lease_worker = null, lease_until = null, not_before = null, problem = null where id = %(topic_id)s
