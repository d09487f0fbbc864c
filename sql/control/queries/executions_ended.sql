-- The first thousand attempts that ended after a moment, in the order of their ends; nothing where none did.
select e.id, t.name as topic, e.block_id, r.kind, e.ended_at, e.reason,
       case when e.execution_code = 'Succeeded' then 'committed'
            when b.status = 'parked' or r.status = 'failed' then 'parked' else 'failed' end as result,
       e.rows_inserted + e.rows_updated as rows, extract(epoch from e.ended_at - e.started_at)::float8 as seconds
from dwh.execution e
join dwh.topic t on t.id = e.topic_id
left join dwh.block b on b.id = e.block_id
left join dwh.restatement r on r.id = e.restatement_id
where e.ended_at > %(after)s and e.execution_code in ('Succeeded', 'Failed')
order by e.ended_at
limit 1000
