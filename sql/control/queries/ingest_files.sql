-- Every file that a block of this topic holds, planned ones included, also those that were left out on purpose.
select f.name, f.number, f.size, f.checksum, f.modified, f.rows, b.id as block_id
from dwh.block b
join dwh.topic t on t.id = b.topic_id
cross join lateral jsonb_to_recordset(b.contents -> 'files') as f(name text, number bigint, size bigint, checksum text, modified float8,
                                                                   rows bigint)
where t.name = %(topic)s and b.status <> 'void' and b.contents is not null
order by f.number
