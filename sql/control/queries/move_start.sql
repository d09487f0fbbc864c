-- Where a topic begins, as long as it has no blocks. No row means that it has some.
update dwh.block s set next_pos = %(pos)s, next_id = %(id)s, upto = %(pos)s
where s.topic_id = %(topic_id)s and s.seq = 0 and s.status <> 'void'
  and not exists (select from dwh.block b where b.topic_id = s.topic_id and b.seq > 0 and b.status <> 'void')
returning s.id
