-- The end of a topic's last block, planned ones included. Always one row for a topic with a cursor.
select next_pos, next_id from dwh.block
where topic_id = %(topic_id)s and status <> 'void'
order by next_pos desc, next_id desc limit 1
