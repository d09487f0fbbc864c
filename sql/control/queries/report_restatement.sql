-- The newest restatement or rollback of a topic. No row means that there never was one.
select r.id, r.kind, r.status, r.first_seq, r.last_seq, r.ended_at, t.problem
from dwh.restatement r join dwh.topic t on t.id = r.topic_id
where t.name = %(topic)s
order by r.id desc limit 1
