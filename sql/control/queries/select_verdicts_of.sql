-- The verdicts of the named topics, in no order, with what a tick needs to plan and start them, and in words. Returns nothing where no topic fits.
select v.*
from dwh.topic t
cross join lateral (
    select topic_id, topic, module, shard, verdict, upto, unexamined, planned, open_block, restatement, last_planned_full, token, last_end,
           reason
    from dwh.verdict where topic_id = t.id offset 0
) v
where t.name = any (%(topics)s)
