-- A topic's table of dead letters was dropped with it: none of them can be tried again.
delete from dwh.dead_letter d using dwh.block b where b.id = d.block_id and b.topic_id = %(topic_id)s
