-- Errors of the last day, grouped by topic and text, newest first. Numbers in a text do not make it another error.
create view dwh.errors as
select e.topic,
       (array_agg(e.code order by e.at desc))[1] as code,
       count(*) as times,
       min(e.at) as first_at,
       max(e.at) as last_at,
       (array_agg(e.block_id order by e.at desc))[1] as block_id,
       (array_agg(e.text order by e.at desc))[1] as text
from dwh.event_log e
where e.at > now() - interval '1 day' and e.code in ('FAILED', 'PARKED', 'LOST', 'PLAN', 'OBSERVE')
group by e.topic, regexp_replace(e.text, '\d+', '0', 'g')
order by last_at desc;
comment on view dwh.errors is 'errors of the last day, grouped by topic and text, newest first';
comment on column dwh.errors.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.errors.code is 'code of the newest of them in the event log';
comment on column dwh.errors.times is 'how often';
comment on column dwh.errors.first_at is 'first time';
comment on column dwh.errors.last_at is 'last time';
comment on column dwh.errors.block_id is 'block of the newest one';
comment on column dwh.errors.text is 'text of the newest one';
