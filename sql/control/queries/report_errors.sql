-- Errors of the last day, newest first. Nothing means a day without errors.
select topic, code, times, first_at, last_at, block_id, text from dwh.errors
where %(topics)s::text[] is null or topic = any (%(topics)s)
order by last_at desc
