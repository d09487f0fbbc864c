-- Blocks are loaded anew or taken back: what they left goes, and what they had tried again waits again.
-- What a later block has tried again stays with blocks that are loaded anew: its events are rows of that block.
with gone as (delete from dwh.dead_letter where block_id = any(%(blocks)s) and (replayed_by is null or %(rolled_back)s))
update dwh.dead_letter set replayed_by = null where replayed_by = any(%(blocks)s)
