-- The vocabulary of the event ingestion: batches, new events and deduplication with the names of the document, as views to read.
-- The events themselves are rows of the stage table: its columns _unique_hi and _unique_lo are the uniqueId, _schema_version the version.

-- A batch is a block: what it is made of is stored before it is read and never changes.
create view broker.batches as
select b.id as "batchId", t.name as topic, t.target as stage_table, b.contents as batch, b.next_pos as created_at,
       case when b.status in ('committed', 'stale') then 'LOADED'
            when b.status = 'skipped' then 'SKIPPED'
            when b.status = 'planned' then 'NEW'
            when b.status = 'open' and t.lease_until > now() then 'IN_PROCESS'
            else 'RETRY' end as status,
       s.rows as new_events,
       case when r.first_seq is distinct from r.last_seq then null else e.rows_discarded end as known_events,   -- one number for several blocks
       case when s.block_id is not null
            then (select coalesce(sum(d.rows), 0)::bigint from dwh.dead_letter d where d.block_id = b.id) end as dead_letters
from dwh.block b
join dwh.topic t on t.id = b.topic_id
left join dwh.load_stat s on s.block_id = b.id
left join dwh.execution e on e.id = s.execution_id
left join dwh.restatement r on r.id = e.restatement_id
where b.contents is not null and b.status <> 'void' and b.kind <> 'start';
comment on view broker.batches is 'the blocks of ingest modules as batches: what each is made of never changes';
comment on column broker.batches."batchId" is 'number of the block';
comment on column broker.batches.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column broker.batches.stage_table is 'the table that events are loaded to';
comment on column broker.batches.batch is 'offsets per partition, files, or dead letters that are tried again';
comment on column broker.batches.created_at is 'when it was planned; the pos of its rows';
comment on column broker.batches.status is 'NEW, IN_PROCESS, RETRY, LOADED or SKIPPED';
comment on column broker.batches.new_events is 'events that were loaded';
comment on column broker.batches.known_events is 'events that were there already; null: restated with other blocks, which are counted together';
comment on column broker.batches.dead_letters is 'events that could not be loaded';

-- Events that are not in the stage table yet, by the partition and offsets, the file or the dead letters that a batch has set aside.
create view broker.new_events as
select b."batchId", b.topic, b.stage_table, n.partition, n.first_offset, n.end_offset, n.file, n.replayed, n.events, b.status
from broker.batches b
cross join lateral (
    select f.key::int as partition, f.value::bigint as first_offset, (b.batch -> 'end' ->> f.key)::bigint as end_offset,
           null::text as file, null::bigint as replayed, (b.batch -> 'end' ->> f.key)::bigint - f.value::bigint as events
    from jsonb_each_text(b.batch -> 'first') f
    union all
    select null, null, null, f.name, null, f.rows from jsonb_to_recordset(b.batch -> 'files') as f(name text, rows bigint)
    union all
    select null, null, null, null, r.block, d.rows
    from jsonb_to_recordset(b.batch -> 'replays') as r(block bigint, reason text)
    join dwh.dead_letter d on d.block_id = r.block and d.reason = r.reason
) n
where b.status in ('NEW', 'IN_PROCESS', 'RETRY') and n.events > 0;
comment on view broker.new_events is 'events that are set aside for a batch and not in the stage table yet';
comment on column broker.new_events."batchId" is 'number of the block';
comment on column broker.new_events.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column broker.new_events.stage_table is 'the table that events are loaded to';
comment on column broker.new_events.partition is 'partition of the topic on the broker; null: not from a broker';
comment on column broker.new_events.first_offset is 'first of them';
comment on column broker.new_events.end_offset is 'behind the last of them';
comment on column broker.new_events.file is 'name of the file; null: not from a file';
comment on column broker.new_events.replayed is 'number of the block whose dead letters are tried again; null: they are not';
comment on column broker.new_events.events is 'how many offsets, rows of the file, or dead letters';
comment on column broker.new_events.status is 'NEW, IN_PROCESS or RETRY';

-- The ids that a new event is compared with, batch by batch, and until when.
create view broker.deduplication as
select b."batchId", b.topic, b.stage_table, b.created_at, b.new_events as ids, b.known_events,
       b.created_at + (s.spec -> 'events' ->> 'dedup_age')::interval + interval '1 hour' as expires_at
from broker.batches b
join dwh.topic t on t.name = b.topic
join dwh.module m on m.name = t.module
join dwh.source s on s.name = m.base
where b.status = 'LOADED' and b.created_at + (s.spec -> 'events' ->> 'dedup_age')::interval + interval '1 hour' > now();
comment on view broker.deduplication is 'the ids that a new event is compared with, batch by batch';
comment on column broker.deduplication."batchId" is 'number of the block';
comment on column broker.deduplication.topic is 'name of the topic: db.table[#tag][:shard]';
comment on column broker.deduplication.stage_table is 'the table that events are loaded to';
comment on column broker.deduplication.created_at is 'when it was planned';
comment on column broker.deduplication.ids is 'how many ids';
comment on column broker.deduplication.known_events is 'events of it that were there already';
comment on column broker.deduplication.expires_at is 'until when they are compared';

comment on schema broker is 'the vocabulary of the event ingestion: batches, new events and deduplication';
