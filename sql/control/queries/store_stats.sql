-- The statistics of a block: one row a block, so a retried or restated block is counted once.
insert into dwh.load_stat (block_id, topic_id, execution_id, rows, bytes, bytes_read, max_id, min_pos, max_pos, lag, seconds, memory,
                           nulls, measures, expects, checks, base_content, base_hashed)
values (%(block_id)s, %(topic_id)s, %(execution_id)s, %(rows)s, %(bytes)s, %(bytes_read)s, %(max_id)s, %(min_pos)s, %(max_pos)s,
        clock_timestamp() - %(max_pos)s, %(seconds)s, %(memory)s, %(nulls)s, %(measures)s, %(expects)s, %(checks)s,
        %(base_content)s, %(base_hashed)s)
on conflict (block_id) do update
set execution_id = excluded.execution_id, loaded_at = excluded.loaded_at, rows = excluded.rows, bytes = excluded.bytes,
    bytes_read = excluded.bytes_read, max_id = excluded.max_id, min_pos = excluded.min_pos, max_pos = excluded.max_pos,
    seconds = excluded.seconds, memory = excluded.memory, nulls = excluded.nulls, measures = excluded.measures,
    expects = excluded.expects, checks = excluded.checks, base_content = excluded.base_content, base_hashed = excluded.base_hashed,
    base_files = null, audited_at = null, audit_found = null
