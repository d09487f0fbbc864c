-- Block 0 of a topic: where it was initialised. The first real block begins at its end.
insert into dwh.block (topic_id, seq, next_pos, next_id, kind, status, upto, takes_all, base_rows, committed_at)
values (%(topic_id)s, 0, %(pos)s, %(id)s, 'start', 'committed', %(pos)s, true, 0, clock_timestamp())
