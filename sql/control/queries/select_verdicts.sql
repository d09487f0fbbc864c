-- The verdict of every topic, or of those named. Returns nothing where no topic fits.
select * from dwh.verdict
where %(topics)s::text[] is null or topic = any (%(topics)s)
order by topic
