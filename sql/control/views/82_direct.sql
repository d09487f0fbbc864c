-- The vocabulary of DIRECT: its tables with their names and one-letter codes, as views to read.
-- Number 0 is the batch and the batch instance of what ran without one, so that the document's inner joins find it.

create view direct.execution_status as
select left(c.name, 1) as execution_status_code, c.name as execution_status_description
from (values ('Executing'), ('Succeeded'), ('Failed'), ('Aborted'), ('Cancelled')) c (name);
comment on view direct.execution_status is 'the codes of how an instance stands';
comment on column direct.execution_status.execution_status_code is 'E, S, F, A or C';
comment on column direct.execution_status.execution_status_description is 'the word';

create view direct.processing_indicator as
select left(c.name, 1) as processing_indicator, c.name as processing_indicator_description
from (values ('Abort'), ('Proceed'), ('Cancel'), ('Rollback')) c (name);
comment on view direct.processing_indicator is 'the codes of what an instance was allowed to do';
comment on column direct.processing_indicator.processing_indicator is 'A, P, C or R';
comment on column direct.processing_indicator.processing_indicator_description is 'the word';

create view direct.next_run_indicator as
select left(c.name, 1) as next_run_indicator, c.name as next_run_indicator_description
from (values ('Proceed'), ('Rollback'), ('Cancel')) c (name);
comment on view direct.next_run_indicator is 'the codes of what the next run shall do';
comment on column direct.next_run_indicator.next_run_indicator is 'P, R or C';
comment on column direct.next_run_indicator.next_run_indicator_description is 'the word';

create view direct.event_type as
select c.code as event_type_code, c.name as event_type_description
from (values (1, 'information'), (2, 'process'), (3, 'custom'), (4, 'act')) c (code, name);
comment on view direct.event_type is 'the kinds of events';
comment on column direct.event_type.event_type_code is '1 to 4';
comment on column direct.event_type.event_type_description is 'the word, as in dwh.event_log.kind';

create view direct.layer as
select distinct split_part(m.target, '.', 1) as layer_code, split_part(m.target, '.', 1) as layer_description
from dwh.module m where not m.removed;
comment on view direct.layer is 'the first parts of the names of tables';
comment on column direct.layer.layer_code is 'such as fact';
comment on column direct.layer.layer_description is 'the same';

create view direct.area as
select distinct m.area as area_code, m.area as area_description, split_part(m.target, '.', 1) as layer_code
from dwh.module m where not m.removed;
comment on view direct.area is 'the folders of Lineage files';
comment on column direct.area.area_code is 'name of the folder';
comment on column direct.area.area_description is 'the same';
comment on column direct.area.layer_code is 'layer of its tables';

create view direct.batch as
select b.number as batch_id, b.name as batch_code, b.kind as batch_type, coalesce(b.frequency, '') as frequency_code,
       coalesce(b.spec ->> 'description', '') as batch_description, case when b.active then 'N' else 'Y' end as inactive_indicator
from dwh.batch b where not b.removed
union all
select 0, 'none', '', '', 'what ran without a batch', 'N';
comment on view direct.batch is 'the batches';
comment on column direct.batch.batch_id is 'number of the batch; 0: none';
comment on column direct.batch.batch_code is 'its name';
comment on column direct.batch.batch_type is 'STANDARD or MAINTENANCE';
comment on column direct.batch.frequency_code is 'cron expression; empty: only when asked for';
comment on column direct.batch.batch_description is 'what it is for';
comment on column direct.batch.inactive_indicator is 'Y: switched off';

create view direct.batch_instance as
select i.id as batch_instance_id, b.number as batch_id, i.started_at as start_datetime, i.ended_at as end_datetime,
       left(i.execution_code, 1) as execution_status_code, left(i.processing_code, 1) as processing_indicator,
       left(i.next_run_code, 1) as next_run_indicator, i.worker as batch_execution_system_id, coalesce(i.parent_id, 0) as parent_batch_instance_id
from dwh.batch_instance i
join dwh.batch b on b.name = i.batch
union all
select 0, 0, '1900-01-01 00:00+00', '1900-01-01 00:00+00', 'S', 'P', 'P', '', 0;
comment on view direct.batch_instance is 'the runs of batches';
comment on column direct.batch_instance.batch_instance_id is 'number of the run; 0: none';
comment on column direct.batch_instance.batch_id is 'number of the batch';
comment on column direct.batch_instance.start_datetime is 'when it began';
comment on column direct.batch_instance.end_datetime is 'when it ended; null: it runs';
comment on column direct.batch_instance.execution_status_code is 'how it stands: direct.execution_status';
comment on column direct.batch_instance.processing_indicator is 'what it was allowed to do: direct.processing_indicator';
comment on column direct.batch_instance.next_run_indicator is 'what the next run shall do: direct.next_run_indicator';
comment on column direct.batch_instance.batch_execution_system_id is 'the process that ran it';
comment on column direct.batch_instance.parent_batch_instance_id is 'the run of the batch that it is part of; 0: none';

-- A module may be part of several batches: `batch_id` is the first of them, for the document's own joins; batch_module has all.
create view direct.module as
select m.number as module_id, m.area as area_code, m.name as module_code, m.processor as module_type_code,
       coalesce(m.spec ->> 'description', '') as module_description, case when m.active then 'N' else 'Y' end as inactive_indicator,
       coalesce((select min(b.number) from dwh.batch_module l join dwh.batch b on b.name = l.batch and not b.removed
                 where l.module = m.name), 0) as batch_id
from dwh.module m where not m.removed;
comment on view direct.module is 'the modules';
comment on column direct.module.module_id is 'number of the module';
comment on column direct.module.area_code is 'folder of its file';
comment on column direct.module.module_code is 'its name';
comment on column direct.module.module_type_code is 'its processor';
comment on column direct.module.module_description is 'what one row means';
comment on column direct.module.inactive_indicator is 'Y: switched off';
comment on column direct.module.batch_id is 'the first batch that it is part of; 0: none';

create view direct.module_instance as
select e.id as module_instance_id, m.number as module_id, coalesce(e.batch_instance_id, 0) as batch_instance_id,
       e.started_at as start_datetime, e.ended_at as end_datetime,
       left(e.execution_code, 1) as execution_status_code, left(e.processing_code, 1) as processing_indicator,
       left(e.next_run_code, 1) as next_run_indicator,
       e.rows_read, e.rows_inserted, e.rows_updated, e.rows_deleted, e.rows_discarded, e.rows_rejected,
       e.worker as module_execution_system_id
from dwh.execution e
join dwh.topic t on t.id = e.topic_id
join dwh.module m on m.name = t.module;
comment on view direct.module_instance is 'the executions: each attempt at a block, a restatement or a command';
comment on column direct.module_instance.module_instance_id is 'number of the execution';
comment on column direct.module_instance.module_id is 'number of the module';
comment on column direct.module_instance.batch_instance_id is 'the run of a batch that it belongs to; 0: none';
comment on column direct.module_instance.start_datetime is 'when it began';
comment on column direct.module_instance.end_datetime is 'when it ended; null: it runs';
comment on column direct.module_instance.execution_status_code is 'how it stands: direct.execution_status';
comment on column direct.module_instance.processing_indicator is 'what it was allowed to do: direct.processing_indicator';
comment on column direct.module_instance.next_run_indicator is 'what the next run shall do: direct.next_run_indicator';
comment on column direct.module_instance.rows_read is 'base rows read';
comment on column direct.module_instance.rows_inserted is 'rows added';
comment on column direct.module_instance.rows_updated is 'rows changed';
comment on column direct.module_instance.rows_deleted is 'rows deleted';
comment on column direct.module_instance.rows_discarded is 'rows left out, such as events that were known';
comment on column direct.module_instance.rows_rejected is 'rows that could not be loaded';
comment on column direct.module_instance.module_execution_system_id is 'the worker that did it';

create view direct.batch_module as
select b.number as batch_id, m.number as module_id, l.sequence, case when l.active then 'N' else 'Y' end as inactive_indicator
from dwh.batch_module l
join dwh.batch b on b.name = l.batch and not b.removed
join dwh.module m on m.name = l.module and not m.removed;
comment on view direct.batch_module is 'which modules are part of which batches';
comment on column direct.batch_module.batch_id is 'number of the batch';
comment on column direct.batch_module.module_id is 'number of the module';
comment on column direct.batch_module.sequence is 'place in the batch';
comment on column direct.batch_module.inactive_indicator is 'Y: passed over in this batch';

create view direct.batch_hierarchy as
select p.number as parent_batch_id, c.number as batch_id, h.sequence, case when h.active then 'N' else 'Y' end as inactive_indicator
from dwh.batch_hierarchy h
join dwh.batch p on p.name = h.parent and not p.removed
join dwh.batch c on c.name = h.child and not c.removed;
comment on view direct.batch_hierarchy is 'which batches are part of which batches';
comment on column direct.batch_hierarchy.parent_batch_id is 'number of the outer batch';
comment on column direct.batch_hierarchy.batch_id is 'number of the inner one';
comment on column direct.batch_hierarchy.sequence is 'place in the outer one';
comment on column direct.batch_hierarchy.inactive_indicator is 'Y: passed over in this batch';

create view direct.data_store as
select g.number * 2 as data_store_id, g.name as data_store_code, 'table' as data_store_type_code, '' as data_store_description,
       case when g.allow_truncate then 'Y' else 'N' end as allow_truncate_indicator
from dwh.target g
union all
select s.number * 2 + 1, s.name, s.kind, coalesce(s.spec ->> 'description', ''), 'N' from dwh.source s where not s.removed;
comment on view direct.data_store is 'built tables and sources';
comment on column direct.data_store.data_store_id is 'number of the table, even, or of the source, odd';
comment on column direct.data_store.data_store_code is 'its name';
comment on column direct.data_store.data_store_type_code is 'table, or the kind of the source';
comment on column direct.data_store.data_store_description is 'what it holds';
comment on column direct.data_store.allow_truncate_indicator is 'Y: dwh rollback --all may empty it';

create view direct.module_data_store as
select m.number as module_id, g.number * 2 as data_store_id, 'Target' as relationship_type
from dwh.module m join dwh.target g on g.name = m.target where not m.removed
union all
select m.number, coalesce(g.number * 2, s.number * 2 + 1), 'Source'
from dwh.module m
join dwh.module_dependency d on d.module = m.name
left join dwh.target g on g.name = d.table_name and not d.is_source
left join dwh.source s on s.name = d.table_name and d.is_source
where not m.removed;
comment on view direct.module_data_store is 'what modules read and write';
comment on column direct.module_data_store.module_id is 'number of the module';
comment on column direct.module_data_store.data_store_id is 'number of the table or source';
comment on column direct.module_data_store.relationship_type is 'Target or Source';

create view direct.parameter as
select p.number as parameter_id, p.name as parameter_key_code, p.value as parameter_value_code, p.description as parameter_description
from dwh.parameter p;
comment on view direct.parameter is 'the parameters of the Lineage';
comment on column direct.parameter.parameter_id is 'number of the parameter';
comment on column direct.parameter.parameter_key_code is 'its name';
comment on column direct.parameter.parameter_value_code is 'its value as text';
comment on column direct.parameter.parameter_description is 'what it means';

-- A parameter that is neither of a module nor of a batch is global: every module uses it.
create view direct.module_parameter as
select m.number as module_id, p.number as parameter_id
from dwh.parameter p
join dwh.module m on (p.module = m.name or p.module is null and p.batch is null) and not m.removed;
comment on view direct.module_parameter is 'which modules may read which parameters';
comment on column direct.module_parameter.module_id is 'number of the module';
comment on column direct.module_parameter.parameter_id is 'number of the parameter';

-- The load window of each instance: the bounds of its block, or of the blocks that it restated.
create view direct.source_control as
select e.id as source_control_id, e.id as module_instance_id, e.started_at as insert_datetime,
       b.last_pos as interval_start_datetime, b.last_id as interval_start_identifier,
       b.next_pos as interval_end_datetime, b.next_id as interval_end_identifier
from dwh.execution e
join dwh.block b on b.id = e.block_id
union all
select e.id, e.id, e.started_at, f.last_pos, f.last_id, l.next_pos, l.next_id
from dwh.execution e
join dwh.restatement r on r.id = e.restatement_id
join dwh.block f on f.tile = r.topic_id and f.seq = r.first_seq
join dwh.block l on l.tile = r.topic_id and l.seq = r.last_seq
where e.block_id is null;
comment on view direct.source_control is 'the load window of each execution: the bounds of its block, or of the blocks that it restated';
comment on column direct.source_control.source_control_id is 'number of the execution';
comment on column direct.source_control.module_instance_id is 'the same';
comment on column direct.source_control.insert_datetime is 'when it began';
comment on column direct.source_control.interval_start_datetime is 'pos before its first row';
comment on column direct.source_control.interval_start_identifier is 'id before its first row';
comment on column direct.source_control.interval_end_datetime is 'pos of its last row';
comment on column direct.source_control.interval_end_identifier is 'id of its last row';

create view direct.event_log as
select v.id as event_id, coalesce(v.batch_instance_id, e.batch_instance_id, 0) as batch_instance_id,
       coalesce(v.execution_id, 0) as module_instance_id, v.at as event_datetime,
       case v.kind when 'information' then 1 when 'process' then 2 when 'custom' then 3 else 4 end as event_type_code,
       v.code as event_return_code_details, v.text as event_detail, 0 as error_bitmap
from dwh.event_log v
left join dwh.execution e on e.id = v.execution_id;
comment on view direct.event_log is 'the event log';
comment on column direct.event_log.event_id is 'number of the event';
comment on column direct.event_log.batch_instance_id is 'the run of a batch that it is about; 0: none';
comment on column direct.event_log.module_instance_id is 'the execution that it is about; 0: none';
comment on column direct.event_log.event_datetime is 'when it was written';
comment on column direct.event_log.event_type_code is 'its kind: direct.event_type';
comment on column direct.event_log.event_return_code_details is 'its code';
comment on column direct.event_log.event_detail is 'its text';
comment on column direct.event_log.error_bitmap is 'always 0';

comment on schema direct is 'the vocabulary of DIRECT: its tables with their names and one-letter codes; number 0 stands for what ran without a batch';
