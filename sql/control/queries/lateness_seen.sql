-- How far the rows of each source were observed. Nothing before the first look.
select source, snapshot_id, changed_at, passed, since from dwh.lateness_seen
