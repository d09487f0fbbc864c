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

create view kettle.v_etl_kjb_log as
select t1.kjb_name, t1.begin_dttm, t2.end_dttm, t2.status
from (select kjb_name, max(begin_dttm) as begin_dttm from kettle.t_etl_kjb_log group by kjb_name) t1
inner join kettle.t_etl_kjb_log t2 on t1.kjb_name = t2.kjb_name and t1.begin_dttm = t2.begin_dttm;

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

-- The latest row of each table. The document joins the log with itself, which would read it twice.
create view kettle.v_etl_tbl_log as
select distinct on (l.tbl_name) l.kjb_name, l.ktr_name, l.tbl_name, l.begin_dttm, l.end_dttm, l.status, l.row_count, l.error_count
from kettle.t_etl_tbl_log l
order by l.tbl_name, l.begin_dttm desc, l.log_id desc;

create view kettle.t_etl_kjb_cfg as
select b.number as cfg_id, b.name as kjb_name, b.kind as kjb_type, case when b.active then 'Y' else 'N' end as is_enabled, b.retries
from dwh.batch b where not b.removed;

create view kettle.t_etl_std_ktr_cfg as
select b.number * 100000::bigint + m.number as cfg_id, l.batch as kjb_name, m.name as ktr_name,
       coalesce((select string_agg(p, ',') from jsonb_array_elements_text(m.spec -> 'transforms') p), '') as ktr_path,
       m.target as tbl_name, case when l.active and m.active then 'Y' else 'N' end as is_enabled
from dwh.batch_module l
join dwh.batch b on b.name = l.batch and b.kind = 'STANDARD' and not b.removed
join dwh.module m on m.name = l.module and not m.removed;

create view kettle.t_etl_maint_ktr_cfg as
select b.number * 100000::bigint + m.number as cfg_id, l.batch as kjb_name, m.name as ktr_name,
       coalesce((select string_agg(p, ',') from jsonb_array_elements_text(m.spec -> 'transforms') p), '') as ktr_path,
       m.target as tbl_name, case when l.active and m.active then 'Y' else 'N' end as is_enabled, l.sequence as exec_order
from dwh.batch_module l
join dwh.batch b on b.name = l.batch and b.kind = 'MAINTENANCE' and not b.removed
join dwh.module m on m.name = l.module and not m.removed;

create view kettle.t_etl_std_dep_cfg as
select min(m.number * 1000::bigint + d.ordinal) as cfg_id, m.target as tbl_to, d.table_name as tbl_from,
       case when d.is_source then 'N' else 'Y' end as tbl_from_is_etl
from dwh.module_dependency d
join dwh.module m on m.name = d.module and not m.removed
group by m.target, d.table_name, d.is_source;

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
