-- The verdict of every topic, or of those named, with what a tick needs to plan and start it. Returns nothing where no topic fits.
select topic_id, topic, module, shard, verdict, upto, unexamined, planned, open_block, restatement, last_planned_full, token, last_end
from dwh.verdict
where %(topics)s::text[] is null or topic = any (%(topics)s)
order by topic_id
