-- The ranges of a table that are being written now: begun blocks and open restatements of its topics. No row: it is at rest.
select b.last_pos as low, b.next_pos as high
from dwh.block b join dwh.topic t on t.id = b.topic_id
where t.target = %(table)s and b.status = 'open'
union all
select min(b.last_pos), max(b.next_pos)
from dwh.restatement r
join dwh.topic t on t.id = r.topic_id
join dwh.block b on b.topic_id = r.topic_id and b.seq between r.first_seq and r.last_seq and b.status <> 'void'
where t.target = %(table)s and r.status = 'open'
group by r.id
