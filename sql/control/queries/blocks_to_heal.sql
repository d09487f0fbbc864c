-- Blocks whose base rows an audit found changed, the oldest of each topic, where nothing else is being restated. One whose restatement
-- was given up since it was loaded, or that was healed already within a day, is left to people (values that differ at every look would
-- be loaded for ever), and so is one that lost its rows. No row: nothing is to be healed.
select distinct on (t.id) t.name as topic, t.module, b.id as block_id, b.seq
from dwh.load_stat s
join dwh.block b on b.id = s.block_id and b.status = 'committed' and b.expired_at is null
join dwh.topic t on t.id = b.topic_id and t.active
where s.audit_found in ('more', 'fewer', 'other', 'values')
  and not exists (select from dwh.restatement r where r.topic_id = t.id and r.status = 'open')
  and not exists (select from dwh.restatement r where r.topic_id = t.id and r.status = 'failed' and r.asked_at > s.loaded_at
                  and b.seq between r.first_seq and r.last_seq)
  and not exists (select from dwh.restatement r where r.topic_id = t.id and r.asked_by = %(who)s and r.asked_at > now() - interval '1 day'
                  and b.seq between r.first_seq and r.last_seq)
order by t.id, b.seq
