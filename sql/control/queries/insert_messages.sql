-- Put messages on their topics, in order, and wake up those who listen. Needs lock_messages before it.
-- Returns one row per topic; none where there was no message.
with put as (
    insert into dwh.message (topic, body)
    select m.topic, m.body from unnest(%(topics)s::text[], %(bodies)s::text[]) with ordinality m (topic, body, n) order by m.n
    returning topic
)
select pg_notify(topic, '') from put group by topic
