-- A topic that has caught up, was switched off or promises nothing any more ends its episode.
update dwh.alert a
set resolved_at = now()
where a.kind = 'behind' and a.resolved_at is null and not exists (select from dwh.behind b where b.topic = a.topic)
