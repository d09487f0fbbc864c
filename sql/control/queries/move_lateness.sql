-- Note how far a source was observed now. No row means that another process was quicker: what it counted is not counted again.
update dwh.lateness_seen set snapshot_id = %(snapshot)s, changed_at = %(changed_at)s, passed = %(passed)s
where source = %(source)s
  and (snapshot_id, changed_at) is not distinct from (%(old_snapshot)s::bigint, %(old_changed_at)s::timestamptz)
returning source
