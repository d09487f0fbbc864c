-- An instant for events that nobody was told to be complete: behind the last block and the watermark. Always one row for a topic.
select greatest(clock_timestamp(), t.watermark + interval '1 microsecond', max(b.next_pos) + interval '1 microsecond') as pos,
       max(b.seq) as seq
from dwh.topic t join dwh.block b on b.topic_id = t.id and b.status <> 'void'
where t.id = %(topic_id)s
group by t.id
