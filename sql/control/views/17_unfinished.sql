-- The blocks of each topic that are not done: how many are planned, which one was begun. A topic without any has no row.
create view dwh.unfinished as
select topic_id,
       count(*) filter (where status = 'planned') as planned,
       min(next_pos) filter (where status = 'planned') as planned_next,
       max(id) filter (where status = 'open') as open_block,
       max(next_pos) filter (where status = 'open') as open_next,
       max(id) filter (where status = 'parked') as parked_block,
       bool_and(not takes_all) as last_planned_full,
       sum(planned_rows) as pending_rows
from dwh.block
where status in ('planned', 'open', 'parked')
group by topic_id;
