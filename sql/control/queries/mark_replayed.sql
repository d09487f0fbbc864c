-- Dead letters that this block has tried again; those that failed again are among its own.
update dwh.dead_letter d set replayed_by = %(block_id)s
from jsonb_to_recordset(%(replays)s::jsonb) as r(block bigint, reason text)
where d.block_id = r.block and d.reason = r.reason
