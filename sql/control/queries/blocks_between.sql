-- The blocks of a topic from one sequence number to another that hold rows, in order.
select * from dwh.block
where topic_id = %(topic_id)s and seq between %(first)s and %(last)s and status in ('committed', 'stale') and kind = 'load'
order by seq
