-- The newest blocks of a topic, in order, planned ones at the end. Nothing where it has no block yet.
-- A topic's start is a bound and not a block; void blocks are history and not shown.
select * from (
    select b.id, b.seq, b.kind, b.status, b.last_pos, b.last_id, b.next_pos, b.next_id, b.planned_rows, b.base_rows, s.rows,
           s.seconds, (select count(*) from dwh.execution e where e.block_id = b.id) as attempts,
           b.failures, b.crashes, b.late_rows, b.waived, b.takes_all, b.planned_at, b.committed_at
    from dwh.block b
    join dwh.topic t on t.id = b.topic_id
    left join dwh.load_stat s on s.block_id = b.id
    where t.name = %(topic)s and b.kind <> 'start' and b.status <> 'void'
    order by b.next_pos desc, b.next_id desc limit %(limit)s
) newest
order by seq
