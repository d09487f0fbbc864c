-- Note where in its stream an ingest topic begins, on its block 0; once, so that `latest` does not move on with the stream.
-- Changes nothing where a block says already how far it was taken in.
update dwh.block s set contents = %(contents)s
from dwh.topic t
where t.name = %(topic)s and s.topic_id = t.id and s.seq = 0 and s.status <> 'void'
  and not exists (select from dwh.block b where b.topic_id = t.id and b.status <> 'void' and b.contents is not null)
