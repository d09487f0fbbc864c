-- What a claim must know of topics that it has locked: the facts of its evaluation, the verdict, an open restatement, and the first
-- block that is not done (its columns are null where nothing is planned). Returns one row for each topic.
-- The generations of the inputs are of the same moment as the horizon: noted later, a rollback in between would count as seen (R17).
-- Each topic is judged by its id on its own: so the cost is theirs, and not that of all topics that there are.
select s.*, t.shard, t.target, m.attempts as attempts_allowed, v.verdict, v.upto as horizon, v.is_unknown, v.reason,
       coalesce((select jsonb_object_agg(g.name, g.generation) from dwh.target g
                 where g.name = any (array(select jsonb_array_elements_text(
                     (m.spec -> 'depends_on') || coalesce(m.spec -> 'reads', '[]'))))), '{}') as generations,
       r.id as restatement_id, r.kind as restatement_kind, r.first_seq, r.last_seq, r.crashes as restatement_crashes,
       b.id, b.seq, b.last_pos, b.last_id, b.next_pos, b.next_id, b.status, b.upto, b.takes_all, b.planned_rows, b.base_rows,
       b.hash_sum, b.failures, b.crashes, b.waived, b.late_rows, b.contents
from unnest(%(ids)s::bigint[]) asked (id)
join dwh.topic t on t.id = asked.id
join dwh.module m on m.name = t.module
cross join lateral (select * from dwh.startable where topic_id = asked.id offset 0) s
cross join lateral (select verdict, upto, is_unknown, reason from dwh.verdict where topic_id = asked.id offset 0) v
left join lateral (select * from dwh.restatement where topic_id = asked.id and status = 'open' limit 1) r on true
left join lateral (
    select * from dwh.block
    where topic_id = asked.id and status in ('planned', 'open', 'parked')
    order by seq limit 1
) b on true
