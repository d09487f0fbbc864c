-- Messages of a topic beyond an id, oldest first. Nothing means that no newer one is there.
select id, topic, at, body from dwh.message where topic = %(topic)s and id > %(after)s order by id limit %(limit)s
