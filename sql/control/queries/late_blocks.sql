-- The topics whose committed blocks have late rows in their range, and from where to where.
select t.name as topic, min(b.seq) as first, max(b.seq) as last, sum(b.late_rows)::bigint as late_rows
from dwh.block b join dwh.topic t on t.id = b.topic_id
where b.late_rows > 0 and b.status in ('committed', 'stale') and b.expired_at is null and (%(topic)s::text is null or t.name = %(topic)s)
group by t.name
