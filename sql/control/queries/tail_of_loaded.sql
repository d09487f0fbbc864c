-- A topic's cursor. No row means that it was not given a first one yet.
select last_pos, last_id from dwh.topic where id = %(topic_id)s and last_pos is not null
