-- The range that a reset passes over, as a block of its own, so that the blocks still tile.
insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all, committed_at, contents)
select %(topic_id)s, 1 + max(seq), %(last_pos)s, %(last_id)s, %(next_pos)s, %(next_id)s, 'skip', 'skipped', %(next_pos)s, false,
       clock_timestamp(), %(contents)s
from dwh.block where topic_id = %(topic_id)s and status <> 'void'
