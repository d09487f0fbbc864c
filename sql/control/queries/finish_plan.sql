-- Note how far the base was searched. A topic that has nothing left below that is complete up to there.
update dwh.topic t
set examined = greatest(t.examined, %(examined)s),
    watermark = case when exists (select from dwh.block b where b.topic_id = t.id and b.status in ('planned', 'open', 'parked'))
                     then t.watermark else greatest(t.watermark, %(examined)s) end,
    failures = 0,
    problem = case when t.failures > 0 then null else t.problem end
where t.id = %(topic_id)s and t.token = %(token)s
