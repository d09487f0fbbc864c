-- The blocks of a topic from one sequence number to another that hold rows, in order; on demand those that were left out or have
-- expired, too: a rollback takes them back with the others.
select * from dwh.block
where topic_id = %(topic_id)s and seq between %(first)s and %(last)s
  and (status in ('committed', 'stale') and kind = 'load' and (expired_at is null or %(skipped)s) or %(skipped)s and status = 'skipped')
order by seq
