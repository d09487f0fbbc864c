-- How far a group of readers has come on a topic. No row means that it has read nothing yet.
select last_id from dwh.message_reader where name = %(name)s and topic = %(topic)s
