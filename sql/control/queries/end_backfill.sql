-- A backfill is over where nothing is left to load.
update dwh.topic set backfill_at = null, backfill_rows = null where name = %(topic)s
