-- Errors of the last 30 days, the most frequent first, whichever topics they befell. Numbers in a text, and the topic and block that
-- it begins with, do not make it another error. Only the first line is compared: what follows is advice.
create view dwh.report_common_errors as
select count(*) as times, count(distinct e.topic) as topics, min(e.at) as first_at, max(e.at) as last_at,
       (array_agg(e.code order by e.at desc))[1] as code,
       (array_agg(e.topic order by e.at desc))[1] as newest_topic,
       (array_agg(e.line order by e.at desc))[1] as newest_text
from (
    select x.at, x.code, x.topic,
           regexp_replace(left(split_part(x.text, E'\n', 1), 500), '^(topic|source) [^ ]+, block #\d+: ', '') as line
    from dwh.event_log x
    where x.at > now() - interval '30 days' and x.code in ('FAILED', 'PARKED', 'LOST', 'PLAN', 'OBSERVE')
) e
group by regexp_replace(e.line, '\d+', '0', 'g')
order by times desc, last_at desc;
comment on view dwh.report_common_errors is 'errors of the last 30 days, the most frequent first';
comment on column dwh.report_common_errors.times is 'how often';
comment on column dwh.report_common_errors.topics is 'how many topics it befell';
comment on column dwh.report_common_errors.first_at is 'first time';
comment on column dwh.report_common_errors.last_at is 'last time';
comment on column dwh.report_common_errors.code is 'code of the newest of them in the event log';
comment on column dwh.report_common_errors.newest_topic is 'topic of the newest one';
comment on column dwh.report_common_errors.newest_text is 'first line of the newest one';
