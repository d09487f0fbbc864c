-- How complete each day is, per topic: a block belongs to the day of its upper bound in the module's timezone, as in its key.
-- `base_rows` are those of committed blocks in the ledger, `rows` what was made of them. `share` is base rows loaded of base rows
-- known: late rows, and those of blocks that wait or were skipped, are known and not loaded. It is null where a skipped range was
-- never counted: then nobody knows. A table that reads its base whole has no base rows: its blocks are counted instead.
create view dwh.report_completeness as
select t.name as topic, c.day, c.blocks, c.base_rows, c.rows, c.late_rows, c.waiting_blocks, c.waiting_rows,
       c.skipped_ranges, c.skipped,
       case when c.uncounted then null
            when c.base_rows + c.late_rows + c.waiting_rows + c.skipped_rows > 0
            then round(c.base_rows::numeric / (c.base_rows + c.late_rows + c.waiting_rows + c.skipped_rows), 4)
            else round(c.blocks::numeric / (c.blocks + c.waiting_blocks + c.skipped_ranges), 4) end as share
from (
    select b.topic_id, (b.next_pos at time zone m.timezone)::date as day,
           count(*) filter (where b.status in ('committed', 'stale')) as blocks,
           coalesce(sum(b.base_rows) filter (where b.status in ('committed', 'stale')), 0)::bigint as base_rows,
           coalesce(sum(s.rows) filter (where b.status in ('committed', 'stale')), 0)::bigint as rows,
           coalesce(sum(b.late_rows) filter (where b.status in ('committed', 'stale')), 0)::bigint as late_rows,
           count(*) filter (where b.status in ('planned', 'open', 'parked')) as waiting_blocks,
           coalesce(sum(b.planned_rows) filter (where b.status in ('planned', 'open', 'parked')), 0)::bigint as waiting_rows,
           count(*) filter (where b.status = 'skipped') as skipped_ranges,
           coalesce(sum(b.planned_rows) filter (where b.status = 'skipped'), 0)::bigint as skipped_rows,
           bool_or(b.status = 'skipped' and b.planned_rows is null) as uncounted,
           string_agg(format('(%s, %s]', b.last_pos, b.next_pos), ', ') filter (where b.status = 'skipped') as skipped
    from dwh.block b
    join dwh.topic x on x.id = b.topic_id
    join dwh.module m on m.name = x.module
    left join dwh.load_stat s on s.block_id = b.id
    where b.kind <> 'start' and b.status <> 'void'
    group by b.topic_id, day
) c
join dwh.topic t on t.id = c.topic_id
order by c.day desc, t.name;
comment on view dwh.report_completeness is 'how complete each day is, per topic: blocks, base rows, late rows, skipped ranges';
comment on column dwh.report_completeness.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column dwh.report_completeness.day is 'the day of the blocks'' ends, in the timezone of the module';
comment on column dwh.report_completeness.blocks is 'committed blocks';
comment on column dwh.report_completeness.base_rows is 'base rows that they read';
comment on column dwh.report_completeness.rows is 'rows that they wrote';
comment on column dwh.report_completeness.late_rows is 'rows that appeared in the base table behind what was loaded';
comment on column dwh.report_completeness.waiting_blocks is 'blocks that are planned, begun or parked';
comment on column dwh.report_completeness.waiting_rows is 'base rows of these';
comment on column dwh.report_completeness.skipped_ranges is 'ranges that were left out';
comment on column dwh.report_completeness.skipped is 'these ranges';
comment on column dwh.report_completeness.share is 'base rows loaded of base rows known, 0 to 1; null: a skipped range was never counted';
