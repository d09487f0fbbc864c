-- A block that was loaded again, or whose base rows are what they were, ends the alert of its audit.
update dwh.alert a
set resolved_at = now()
where a.kind = 'audit' and a.resolved_at is null
  and not exists (
      select from dwh.load_stat s
      where s.block_id = a.block_id and s.audit_found is not null and a.key like 'audit:' || s.block_id || ':' || s.execution_id || ':%')
