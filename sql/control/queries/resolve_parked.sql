-- A block that is parked no more, or was parked anew since, ends its alert.
update dwh.alert a
set resolved_at = now()
where a.kind in ('check_failed', 'block_parked') and a.resolved_at is null
  and (not exists (select from dwh.block b where b.id = a.block_id and b.status = 'parked')
       or exists (select from dwh.alert n
                  where n.block_id = a.block_id and n.id > a.id and n.kind in ('check_failed', 'block_parked') and n.resolved_at is null))
