-- The next block and the next execution get greater numbers than these, if they would not anyhow.
select setval(pg_get_serial_sequence('dwh.block', 'id'), greatest(%(block)s::bigint, (select coalesce(max(id), 1) from dwh.block))),
       setval(pg_get_serial_sequence('dwh.execution', 'id'), greatest(%(execution)s::bigint, (select coalesce(max(id), 1) from dwh.execution)))
