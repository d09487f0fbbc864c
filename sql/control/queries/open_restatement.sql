-- The restatement that was asked for and is not done. No row means that there is none.
select * from dwh.restatement where topic_id = %(topic_id)s and status = 'open'
