-- What was loaded into each topic, from its first block on: rows, bytes written and seconds. Nothing where nothing was loaded.
select t.name as topic, sum(s.rows)::bigint as rows, sum(s.bytes)::bigint as bytes, sum(s.seconds) as seconds
from dwh.load_stat s
join dwh.topic t on t.id = s.topic_id
group by t.name
order by t.name
