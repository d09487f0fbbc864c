-- What a run of a topic will load, in order: the blocks of its open restatement, else those that were begun or are planned.
-- `attempts` is how often the first of them was attempted.
select p.key, p.seq, p.id,
       (select count(*) from dwh.execution e where e.block_id = p.id or r.id is not null and e.restatement_id = r.id) as attempts
from dwh.topic t
left join dwh.restatement r on r.topic_id = t.id and r.status = 'open'
join dwh.partition p on p.tile = t.id
where t.name = %(topic)s
  and case when r.id is not null then p.seq between r.first_seq and r.last_seq
           else p.status in ('open', 'parked', 'planned') end
order by p.seq
