-- How far an ingest topic has come: the end of its last block, planned ones included, its watermark, and the newest contents.
-- No row: the topic is unknown or has no cursor.
select b.next_pos, b.next_id, t.watermark,
       (select c.contents from dwh.block c
        where c.topic_id = t.id and c.status <> 'void' and c.contents is not null
        order by c.next_pos desc, c.next_id desc limit 1) as contents
from dwh.topic t
join lateral (
    select next_pos, next_id from dwh.block
    where topic_id = t.id and status <> 'void'
    order by next_pos desc, next_id desc limit 1
) b on true
where t.name = %(topic)s and t.last_pos is not null
