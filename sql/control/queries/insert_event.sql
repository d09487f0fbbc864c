-- Write one line into the event log.
insert into dwh.event_log (kind, code, topic, block_id, execution_id, batch_instance_id, who, text)
values (%(kind)s, %(code)s, %(topic)s, %(block_id)s, %(execution_id)s, %(batch_instance_id)s, %(who)s, %(text)s)
