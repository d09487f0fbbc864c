-- The verdict of every topic, in no order, with what a tick needs to plan and start it. Returns nothing where there is no topic.
select topic_id, topic, module, shard, verdict, upto, unexamined, planned, open_block, restatement, last_planned_full, token, last_end, priority
from dwh.verdict
