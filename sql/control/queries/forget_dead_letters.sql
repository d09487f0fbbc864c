-- Blocks are loaded anew or taken back: what they left goes, and what they had tried again waits again.
with gone as (delete from dwh.dead_letter where block_id = any(%(blocks)s))
update dwh.dead_letter set replayed_by = null where replayed_by = any(%(blocks)s)
