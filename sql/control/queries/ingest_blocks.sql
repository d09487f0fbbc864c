-- The blocks of an ingest topic within some bounds that hold events, in order.
select b.id, b.next_pos, b.contents
from dwh.block b
join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.kind = 'load' and b.status not in ('void', 'skipped') and b.contents is not null
  and (b.next_pos, b.next_id) > (%(last_pos)s, %(last_id)s) and (b.next_pos, b.next_id) <= (%(next_pos)s, %(next_id)s)
order by b.next_pos, b.next_id
