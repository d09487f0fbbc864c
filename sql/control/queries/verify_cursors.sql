-- Topics whose cursor is not the end of their last finished block (I3). No row means that all cursors are where they should be.
select 'I3' as invariant, t.name as topic, b.id as block_id,
       format('the cursor is (%s, %s) but the last finished block ends at (%s, %s)', t.last_pos, t.last_id, b.next_pos, b.next_id) as text
from dwh.topic t
left join lateral (
    select id, next_pos, next_id from dwh.block
    where topic_id = t.id and status in ('committed', 'stale', 'skipped')
    order by next_pos desc, next_id desc limit 1
) b on true
where t.last_pos is not null and (t.last_pos, t.last_id) is distinct from (b.next_pos, b.next_id)
