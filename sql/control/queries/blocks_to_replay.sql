-- The newest blocks of a topic that hold rows, oldest first, each with the attempt that wrote its rows: the snapshots that it read, its
-- code, its rows and how long it took. Nothing means that nothing of the topic was loaded yet.
select * from (
    select b.*, e.id as execution_id, e.inputs, e.code_version, s.rows as written, s.seconds, e.started_at
    from dwh.block b
    join dwh.topic t on t.id = b.topic_id
    join dwh.load_stat s on s.block_id = b.id
    join dwh.execution e on e.id = s.execution_id
    where t.name = %(topic)s and b.kind = 'load' and b.status in ('committed', 'stale') and b.expired_at is null
    order by b.seq desc limit %(count)s
) newest
order by seq
