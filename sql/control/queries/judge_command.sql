-- What a start of a command must know, its topic being locked. No row: the topic is not a command's.
select * from dwh.startable where topic = %(topic)s and kind <> 'table'
