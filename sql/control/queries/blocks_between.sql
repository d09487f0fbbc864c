-- The blocks of a topic from one sequence number to another that hold rows, in order; on demand those that were left out, too.
select * from dwh.block
where topic_id = %(topic_id)s and seq between %(first)s and %(last)s
  and (status in ('committed', 'stale') and kind = 'load' or %(skipped)s and status = 'skipped')
order by seq
