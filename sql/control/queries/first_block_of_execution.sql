-- The topic of an attempt, how it ended, and the first block whose rows it wrote and no later attempt replaced (null: none).
-- No row means that there is no such attempt.
select t.name as topic, e.execution_code,
       (select min(b.seq) from dwh.load_stat s join dwh.block b on b.id = s.block_id
        where s.execution_id = e.id and b.topic_id = e.topic_id and b.status in ('committed', 'stale')) as first
from dwh.execution e join dwh.topic t on t.id = e.topic_id
where e.id = %(execution_id)s
