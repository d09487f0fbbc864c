-- The block of a topic with this sequence number, history left out. No row means that there is none.
select b.id, b.seq, b.kind, b.status, b.next_pos, b.next_id
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.name = %(topic)s and b.seq = %(seq)s and b.status <> 'void'
