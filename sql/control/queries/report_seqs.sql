-- The first and the last committed block of a topic that overlap a span of time. Null where none does.
select min(b.seq) as first, max(b.seq) as last
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale')
  and b.next_pos >= %(since)s and b.last_pos < %(until)s
