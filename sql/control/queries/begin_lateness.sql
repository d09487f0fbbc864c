-- Observe a source from now on. No row changed means that it is observed already, or not known any more.
insert into dwh.lateness_seen (source, snapshot_id, changed_at, passed)
select name, %(snapshot)s, %(changed_at)s, %(passed)s from dwh.source where name = %(source)s
on conflict do nothing
