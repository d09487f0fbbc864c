-- Ask for something to be carried out. One that is open already is left as it is.
insert into dwh.request (kind, name, topic, configuration, priority)
values (%(kind)s, %(name)s, %(topic)s, %(configuration)s, %(priority)s)
on conflict (kind, name) where ended_at is null do nothing
