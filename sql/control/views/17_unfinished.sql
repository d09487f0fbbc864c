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
comment on view dwh.unfinished is 'the blocks of each topic that are not done; a topic without any has no row';
comment on column dwh.unfinished.topic_id is 'number of the topic';
comment on column dwh.unfinished.planned is 'how many are planned';
comment on column dwh.unfinished.planned_next is 'where the first planned one ends';
comment on column dwh.unfinished.open_block is 'number of the begun one';
comment on column dwh.unfinished.open_next is 'where the begun one ends';
comment on column dwh.unfinished.parked_block is 'number of the parked one';
comment on column dwh.unfinished.last_planned_full is 'true: no block takes all that was there, so more may wait';
comment on column dwh.unfinished.pending_rows is 'base rows of all of them';
