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
