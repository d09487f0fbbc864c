-- How far the stream of an ingest topic was taken in: by its blocks, planned ones included, or by those that are finished.
-- No row: no block has contents.
select contents from dwh.block
where topic_id = %(topic_id)s and contents is not null and status <> 'void'
  and (not %(finished)s or status in ('committed', 'stale', 'skipped'))
order by next_pos desc, next_id desc limit 1
