-- The blocks of a topic from one sequence number to another that hold rows, in order; with those that were left out if asked.
select * from dwh.block
where topic_id = %(topic_id)s and seq between %(first)s and %(last)s and (status in ('committed', 'stale') and kind = 'load' or status = 'skipped' and %(with_skipped)s)
order by seq
