-- A group of readers has come so far on a topic; it never goes back.
insert into dwh.message_reader (name, topic, last_id) values (%(name)s, %(topic)s, %(last_id)s)
on conflict (name, topic) do update set last_id = excluded.last_id where message_reader.last_id < excluded.last_id
