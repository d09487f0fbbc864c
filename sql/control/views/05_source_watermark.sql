-- How far each active source is complete. A null watermark means that nothing is known yet.
-- A source that has been idle for its idle_after counts as complete up to the moment it was last looked at.
create view dwh.source_watermark as
select s.name as table_name,
       case when s.idle_after is not null and s.seen_at - s.changed_at >= s.idle_after
            then greatest(s.watermark, s.seen_at)
            else s.watermark end as watermark,
       s.newest_pos as newest
from dwh.source s
where s.active;
comment on view dwh.source_watermark is 'how far each active source is complete';
comment on column dwh.source_watermark.table_name is 'name of the table: db.table';
comment on column dwh.source_watermark.watermark is 'how far it is complete; null: nothing is known';
comment on column dwh.source_watermark.newest is 'the newest position that was seen';

comment on schema dwh is 'the warehouse in its own words: topics, blocks, verdicts, loads, errors, reports';
