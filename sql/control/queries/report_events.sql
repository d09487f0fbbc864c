-- The newest events, of one topic or of all, in their order. Nothing where there is none.
select * from (
    select id, at, kind, code, topic, block_id, execution_id, who, text from dwh.event_log
    where %(topics)s::text[] is null or topic = any (%(topics)s)
    order by id desc limit %(limit)s
) newest
order by id
