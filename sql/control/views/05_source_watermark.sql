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
