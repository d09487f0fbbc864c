-- Blocks of a topic that do not begin where the one before ends (I2). No row means that all blocks tile.
select 'I2' as invariant, t.name as topic, x.id as block_id,
       format('block begins at (%s, %s) but the one before ends at (%s, %s)', x.last_pos, x.last_id, x.before_pos, x.before_id) as text
from (
    select b.*, lag(next_pos) over w as before_pos, lag(next_id) over w as before_id
    from dwh.block b where status <> 'void'
    window w as (partition by topic_id order by seq)
) x
join dwh.topic t on t.id = x.topic_id
where x.seq > 0 and (x.before_pos, x.before_id) is distinct from (x.last_pos, x.last_id)
