-- What is known of the sources. Nothing before a Lineage was applied.
select s.name, s.kind, w.watermark, s.newest_pos as newest, s.seen_at, s.changed_at, s.problem, s.active
from dwh.source s left join dwh.source_watermark w on w.table_name = s.name
where not s.removed
order by s.name
