-- Note a migration as applied, in the transaction that applied it; the set of views (version 0) replaces its row.
-- Returns nothing.
insert into dwh.migration (version, name, checksum)
values (%(version)s, %(name)s, %(checksum)s)
on conflict (version) do update
   set checksum = excluded.checksum, applied_at = excluded.applied_at
 where migration.version = 0
