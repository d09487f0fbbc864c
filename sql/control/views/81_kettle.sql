-- The vocabulary of the Kettle workflows: job log, table log and their configuration with the names of the document, as views to read.
-- Times are instants; what has not ended has the document's 1970. Refused and cancelled runs have no row, as there.

-- K5: a STANDARD job is Completed there even if a table failed; here its batch instance is Failed and names it. A job that
-- failed without a failed table (its worker was lost, say) is Failed in both.
create view kettle.t_etl_kjb_log as
select i.id as log_id, i.batch as kjb_name, i.started_at as begin_dttm,
       coalesce(i.ended_at, timestamptz '1970-01-01 00:00:00+00') as end_dttm,
       case when i.execution_code = 'Executing' then 'Running'
            when i.execution_code = 'Failed' and (b.kind = 'MAINTENANCE' or i.failed = '{}') then 'Failed'
            else 'Completed' end as status
from dwh.batch_instance i
join dwh.batch b on b.name = i.batch
where i.execution_code in ('Executing', 'Succeeded', 'Failed');
comment on view kettle.t_etl_kjb_log is 'job log: one row per run of a batch; a STANDARD one is Completed even if a table failed';
comment on column kettle.t_etl_kjb_log.log_id is 'number of the batch instance';
comment on column kettle.t_etl_kjb_log.kjb_name is 'name of the batch';
comment on column kettle.t_etl_kjb_log.begin_dttm is 'when it began';
comment on column kettle.t_etl_kjb_log.end_dttm is 'when it ended; 1970 while it runs';
comment on column kettle.t_etl_kjb_log.status is 'Running, Completed or Failed';

create view kettle.v_etl_kjb_log as
select t1.kjb_name, t1.begin_dttm, t2.end_dttm, t2.status
from (select kjb_name, max(begin_dttm) as begin_dttm from kettle.t_etl_kjb_log group by kjb_name) t1
inner join kettle.t_etl_kjb_log t2 on t1.kjb_name = t2.kjb_name and t1.begin_dttm = t2.begin_dttm;
comment on view kettle.v_etl_kjb_log is 'the latest row of each job';
comment on column kettle.v_etl_kjb_log.kjb_name is 'name of the batch';
comment on column kettle.v_etl_kjb_log.begin_dttm is 'when it began';
comment on column kettle.v_etl_kjb_log.end_dttm is 'when it ended; 1970 while it runs';
comment on column kettle.v_etl_kjb_log.status is 'Running, Completed or Failed';

-- One row per batch instance and table, although each attempt is an execution of its own here: `error_count` counts the failed ones.
-- What was loaded without a batch has one row per block or restatement, and no job name.
-- A table that failed and will be tried again by its running batch is Running.
create view kettle.t_etl_tbl_log as
select g.log_id, coalesce(i.batch, '') as kjb_name, g.ktr_name, g.tbl_name, g.begin_dttm,
       case when s.running then timestamptz '1970-01-01 00:00:00+00' else g.end_dttm end as end_dttm,
       case when s.running then 'Running' when g.failed then 'Failed' else 'Completed' end as status,
       g.row_count, g.error_count
from (
    select min(e.log_id) as log_id, e.batch_instance_id, t.module as ktr_name, t.target as tbl_name,
           min(e.begin_dttm) as begin_dttm, max(e.end_dttm) as end_dttm, bool_or(e.running) as running,
           bool_or(e.last_failed > coalesce(e.last_succeeded, 0)) as failed,   -- the newest attempt of a topic of it failed
           sum(e.row_count)::bigint as row_count, sum(e.error_count)::bigint as error_count
    from (
        select x.topic_id, x.batch_instance_id, case when x.batch_instance_id is null then x.block_id end as block_id,
               case when x.batch_instance_id is null then x.restatement_id end as restatement_id,
               min(x.id) as log_id, min(x.started_at) as begin_dttm, max(x.ended_at) as end_dttm,
               bool_or(x.execution_code = 'Executing') as running,
               max(x.id) filter (where x.execution_code = 'Failed') as last_failed,
               max(x.id) filter (where x.execution_code = 'Succeeded') as last_succeeded,
               coalesce(sum(x.rows_inserted + x.rows_updated) filter (where x.execution_code = 'Succeeded'), 0) as row_count,
               count(*) filter (where x.execution_code = 'Failed') as error_count
        from dwh.execution x
        where x.execution_code in ('Executing', 'Succeeded', 'Failed')
        group by 1, 2, 3, 4
    ) e
    join dwh.topic t on t.id = e.topic_id
    group by e.batch_instance_id, e.block_id, e.restatement_id, t.module, t.target
) g
left join dwh.batch_instance i on i.id = g.batch_instance_id
left join dwh.batch b on b.name = i.batch
cross join lateral (
    select g.running or coalesce(g.failed and i.execution_code = 'Executing' and g.error_count < b.retries, false) as running
) s;
comment on view kettle.t_etl_tbl_log is 'table log: one row per batch instance and table, or per block or restatement without a batch';
comment on column kettle.t_etl_tbl_log.log_id is 'number of its first execution';
comment on column kettle.t_etl_tbl_log.kjb_name is 'name of the batch; empty: it ran without one';
comment on column kettle.t_etl_tbl_log.ktr_name is 'name of the module';
comment on column kettle.t_etl_tbl_log.tbl_name is 'the table it fills';
comment on column kettle.t_etl_tbl_log.begin_dttm is 'when its first attempt began';
comment on column kettle.t_etl_tbl_log.end_dttm is 'when its last attempt ended; 1970 while it runs';
comment on column kettle.t_etl_tbl_log.status is 'Running, Completed or Failed';
comment on column kettle.t_etl_tbl_log.row_count is 'rows that were written';
comment on column kettle.t_etl_tbl_log.error_count is 'attempts that failed';

-- The latest row of each table. The document joins the log with itself, which would read it twice.
create view kettle.v_etl_tbl_log as
select distinct on (l.tbl_name) l.kjb_name, l.ktr_name, l.tbl_name, l.begin_dttm, l.end_dttm, l.status, l.row_count, l.error_count
from kettle.t_etl_tbl_log l
order by l.tbl_name, l.begin_dttm desc, l.log_id desc;
comment on view kettle.v_etl_tbl_log is 'the latest row of each table';
comment on column kettle.v_etl_tbl_log.kjb_name is 'name of the batch; empty: it ran without one';
comment on column kettle.v_etl_tbl_log.ktr_name is 'name of the module';
comment on column kettle.v_etl_tbl_log.tbl_name is 'the table it fills';
comment on column kettle.v_etl_tbl_log.begin_dttm is 'when its first attempt began';
comment on column kettle.v_etl_tbl_log.end_dttm is 'when its last attempt ended; 1970 while it runs';
comment on column kettle.v_etl_tbl_log.status is 'Running, Completed or Failed';
comment on column kettle.v_etl_tbl_log.row_count is 'rows that were written';
comment on column kettle.v_etl_tbl_log.error_count is 'attempts that failed';

create view kettle.t_etl_kjb_cfg as
select b.number as cfg_id, b.name as kjb_name, b.kind as kjb_type, case when b.active then 'Y' else 'N' end as is_enabled, b.retries
from dwh.batch b where not b.removed;
comment on view kettle.t_etl_kjb_cfg is 'the batches';
comment on column kettle.t_etl_kjb_cfg.cfg_id is 'number of the batch';
comment on column kettle.t_etl_kjb_cfg.kjb_name is 'its name';
comment on column kettle.t_etl_kjb_cfg.kjb_type is 'STANDARD or MAINTENANCE';
comment on column kettle.t_etl_kjb_cfg.is_enabled is 'Y, or N: switched off';
comment on column kettle.t_etl_kjb_cfg.retries is 'attempts in all at each of its modules';

create view kettle.t_etl_std_ktr_cfg as
select b.number * 100000::bigint + m.number as cfg_id, l.batch as kjb_name, m.name as ktr_name,
       coalesce((select string_agg(p, ',') from jsonb_array_elements_text(m.spec -> 'transforms') p), '') as ktr_path,
       m.target as tbl_name, case when l.active and m.active then 'Y' else 'N' end as is_enabled
from dwh.batch_module l
join dwh.batch b on b.name = l.batch and b.kind = 'STANDARD' and not b.removed
join dwh.module m on m.name = l.module and not m.removed;
comment on view kettle.t_etl_std_ktr_cfg is 'the modules of STANDARD batches';
comment on column kettle.t_etl_std_ktr_cfg.cfg_id is 'number of the module in the batch';
comment on column kettle.t_etl_std_ktr_cfg.kjb_name is 'name of the batch';
comment on column kettle.t_etl_std_ktr_cfg.ktr_name is 'name of the module';
comment on column kettle.t_etl_std_ktr_cfg.ktr_path is 'its transforms, separated by commas';
comment on column kettle.t_etl_std_ktr_cfg.tbl_name is 'the table it fills';
comment on column kettle.t_etl_std_ktr_cfg.is_enabled is 'Y, or N: switched off, there or itself';

create view kettle.t_etl_maint_ktr_cfg as
select b.number * 100000::bigint + m.number as cfg_id, l.batch as kjb_name, m.name as ktr_name,
       coalesce((select string_agg(p, ',') from jsonb_array_elements_text(m.spec -> 'transforms') p), '') as ktr_path,
       m.target as tbl_name, case when l.active and m.active then 'Y' else 'N' end as is_enabled, l.sequence as exec_order
from dwh.batch_module l
join dwh.batch b on b.name = l.batch and b.kind = 'MAINTENANCE' and not b.removed
join dwh.module m on m.name = l.module and not m.removed;
comment on view kettle.t_etl_maint_ktr_cfg is 'the modules of MAINTENANCE batches';
comment on column kettle.t_etl_maint_ktr_cfg.cfg_id is 'number of the module in the batch';
comment on column kettle.t_etl_maint_ktr_cfg.kjb_name is 'name of the batch';
comment on column kettle.t_etl_maint_ktr_cfg.ktr_name is 'name of the module';
comment on column kettle.t_etl_maint_ktr_cfg.ktr_path is 'its transforms, separated by commas';
comment on column kettle.t_etl_maint_ktr_cfg.tbl_name is 'the table it fills';
comment on column kettle.t_etl_maint_ktr_cfg.is_enabled is 'Y, or N: switched off, there or itself';
comment on column kettle.t_etl_maint_ktr_cfg.exec_order is 'place in the order of the batch';

create view kettle.t_etl_std_dep_cfg as
select min(m.number * 1000::bigint + d.ordinal) as cfg_id, m.target as tbl_to, d.table_name as tbl_from,
       case when d.is_source then 'N' else 'Y' end as tbl_from_is_etl
from dwh.module_dependency d
join dwh.module m on m.name = d.module and not m.removed
group by m.target, d.table_name, d.is_source;
comment on view kettle.t_etl_std_dep_cfg is 'what each table depends on';
comment on column kettle.t_etl_std_dep_cfg.cfg_id is 'number of the dependency';
comment on column kettle.t_etl_std_dep_cfg.tbl_to is 'the table';
comment on column kettle.t_etl_std_dep_cfg.tbl_from is 'what it depends on';
comment on column kettle.t_etl_std_dep_cfg.tbl_from_is_etl is 'Y: it is built here; N: it is a source';

create view kettle.v_etl_std_dep_cfg as
with latest as materialized (select * from kettle.v_etl_tbl_log)
select cfg.tbl_to, cfg.tbl_from, cfg.tbl_from_is_etl,
       coalesce(tl.end_dttm, timestamptz '1970-01-01 00:00:00+00') as tbl_to_end_dttm,
       coalesce(tl.status, 'Failed') as tbl_to_status,
       case when cfg.tbl_from_is_etl = 'Y' then coalesce(fl.end_dttm, timestamptz '1970-01-01 00:00:00+00')
            else timestamptz '2099-12-31 00:00:00+00' end as tbl_from_end_dttm,
       case when cfg.tbl_from_is_etl = 'Y' then coalesce(fl.status, 'Failed') else 'Completed' end as tbl_from_status
from kettle.t_etl_std_dep_cfg cfg
left join latest tl on cfg.tbl_to = tl.tbl_name
left join latest fl on cfg.tbl_from = fl.tbl_name;
comment on view kettle.v_etl_std_dep_cfg is 'what each table depends on, with the latest run of both';
comment on column kettle.v_etl_std_dep_cfg.tbl_to is 'the table';
comment on column kettle.v_etl_std_dep_cfg.tbl_from is 'what it depends on';
comment on column kettle.v_etl_std_dep_cfg.tbl_from_is_etl is 'Y: it is built here; N: it is a source';
comment on column kettle.v_etl_std_dep_cfg.tbl_to_end_dttm is 'when the table was last loaded; 1970: never, or it runs';
comment on column kettle.v_etl_std_dep_cfg.tbl_to_status is 'how that ended; Failed: never';
comment on column kettle.v_etl_std_dep_cfg.tbl_from_end_dttm is 'when its dependency was last loaded; 2099 for a source';
comment on column kettle.v_etl_std_dep_cfg.tbl_from_status is 'how that ended; Completed for a source';

comment on schema kettle is 'the vocabulary of the Kettle workflows: job log, table log and their configuration';
