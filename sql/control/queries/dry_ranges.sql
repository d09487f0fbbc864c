-- Topics that have nothing to load, with the range between their cursor and how far their base was searched: no row should be there.
-- A row that is there came after its topic was told to be complete, and belongs to no block.
select t.id as topic_id, t.name as topic, t.module, t.shard, t.last_pos, t.last_id, t.examined
from dwh.topic t
join dwh.module m on m.name = t.module and m.active
where t.active and t.examined > t.last_pos
  and not exists (select from dwh.block b where b.topic_id = t.id and b.status in ('planned', 'open', 'parked'))
order by t.name
