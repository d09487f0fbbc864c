-- The newest committed blocks, of one topic or of all, in the order they were loaded. Nothing where none is.
select * from (
    select l.block_id, l.topic, l.seq, l.loaded_at, l.rows, l.base_rows, l.seconds, l.rows_per_second,
           extract(epoch from l.lag)::float8 as lag_seconds, l.bytes, l.bytes_read, l.max_id, l.min_pos, l.max_pos, l.nulls,
           l.measures, l.expects, l.checks, l.execution_id, l.attempt, l.worker, l.memory, l.late_rows, l.status
    from dwh.load_log l
    where %(topics)s::text[] is null or l.topic = any (%(topics)s)
    order by l.loaded_at desc limit %(limit)s
) newest
order by loaded_at
