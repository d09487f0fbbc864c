-- The ends of blocks nearest to an instant, to help a person who missed one.
select b.next_pos, b.next_id
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.status in ('committed', 'stale', 'skipped')
order by abs(extract(epoch from b.next_pos - %(pos)s)) limit 3
