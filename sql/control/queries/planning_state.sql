-- What planning needs to know of a topic: its token, the end of its last block, its watermark, how many blocks wait.
-- Returns one row; no row means that the topic is unknown or not initialised.
select t.token, t.last_pos as cursor_pos, t.rows_per_second, t.watermark, b.seq, b.next_pos, b.next_id,
       (select count(*) from dwh.block p where p.topic_id = t.id and p.status = 'planned') as planned
from dwh.topic t
join lateral (
    select seq, next_pos, next_id from dwh.block
    where topic_id = t.id and status <> 'void'
    order by next_pos desc, next_id desc limit 1
) b on true
where t.id = %(topic_id)s and t.last_pos is not null
