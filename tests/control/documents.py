# ruff: noqa: E501 - SQL
"""Queries of the documents of Kettle and DIRECT, as they stand there; only the dialect was changed."""

from __future__ import annotations

from typing import Any

from dwh_assets.control.database import Database


def asked(database: Database, schema: str, query: str, **values: Any) -> list[dict[str, Any]]:
    """With the schema on the path, so that the names of the document need no prefix."""
    with database.transaction() as connection:
        connection.execute(f"set local search_path = {schema}".encode())
        return connection.execute(query.encode(), values).fetchall()


VALID_JOB = (
    "select is_enabled, retries from t_etl_kjb_cfg where kjb_name = %(kjb)s and kjb_type = 'STANDARD' and is_enabled = 'Y'"
)
KTR_LIST = """
select cfg.ktr_name, cfg.ktr_path, cfg.tbl_name
from t_etl_std_ktr_cfg cfg left join v_etl_tbl_log log on cfg.tbl_name = log.tbl_name
where cfg.kjb_name = %(kjb)s
  and cfg.tbl_name in (
      select tbl_to from v_etl_std_dep_cfg group by tbl_to
      having sum(case when tbl_from_status = 'Completed' and tbl_from_end_dttm > tbl_to_end_dttm then 0 else 1 end) = 0)
  and cfg.is_enabled = 'Y'
  and (log.status = 'Failed' or log.end_dttm < current_date or log.end_dttm is null)"""
NEXT_STEP = """
select ktr_name, ktr_path, tbl_name, exec_order from t_etl_maint_ktr_cfg
where (kjb_name, exec_order) = (select kjb_name, min(exec_order) from t_etl_maint_ktr_cfg
                                where kjb_name = %(kjb)s and is_enabled = 'Y' and exec_order > %(order)s group by kjb_name)"""
ERROR_COUNT = """select error_count from t_etl_tbl_log
where kjb_name = %(kjb)s and ktr_name = %(ktr)s and tbl_name = %(tbl)s and begin_dttm = (select max(begin_dttm) from v_etl_tbl_log)"""

RUNNING = "select BATCH_INSTANCE_ID, PROCESSING_INDICATOR from BATCH_INSTANCE where EXECUTION_STATUS_CODE = 'E' and BATCH_ID = %(batch)s"
OTHERS = """select count(*) as ActiveInstancesCount from BATCH_INSTANCE
where EXECUTION_STATUS_CODE = 'E' and BATCH_ID = %(batch)s and BATCH_INSTANCE_ID < %(instance)s"""
PREVIOUS = """
select coalesce(max(LastBatchInstanceID), -1) as "LastBatchInstanceID", coalesce(max(LastModuleInstanceID), -1) as "LastModuleInstanceID",
       coalesce(max(LastStartDateTime), '1900-01-01') as "LastStartTime", max(LastEndDateTime) as "LastEndTime",
       coalesce(max(LastExecutionStatus), 'I') as "LastExecutionStatus", coalesce(max(LastNextRunIndicator), 'P') as "LastNextExecutionFlag",
       coalesce(max(LastModuleInstanceIDList), '-1') as "LastModuleInstanceIDList"
from (
    (select A.BATCH_INSTANCE_ID as LastBatchInstanceID, A.MODULE_INSTANCE_ID as LastModuleInstanceID, A.START_DATETIME as LastStartDateTime,
            A.END_DATETIME as LastEndDateTime, A.EXECUTION_STATUS_CODE as LastExecutionStatus, A.NEXT_RUN_INDICATOR as LastNextRunIndicator,
            (select '(' || string_agg(MODULE_INSTANCE_ID::text, ',' order by MODULE_INSTANCE_ID) || ')' from MODULE_INSTANCE
             where MODULE_ID = %(module)s
               and MODULE_INSTANCE_ID > (select coalesce(max(MODULE_INSTANCE_ID), 0) from MODULE_INSTANCE
                                         where MODULE_ID = %(module)s and EXECUTION_STATUS_CODE = 'S' and NEXT_RUN_INDICATOR = 'P')
               and EXECUTION_STATUS_CODE <> 'E') as LastModuleInstanceIDList
     from MODULE_INSTANCE A
     inner join MODULE B on A.MODULE_ID = B.MODULE_ID
     inner join BATCH C on B.BATCH_ID = C.BATCH_ID
     where A.MODULE_INSTANCE_ID = (select max(MODULE_INSTANCE_ID) from MODULE_INSTANCE
                                   where MODULE_ID = %(module)s and EXECUTION_STATUS_CODE <> 'E'))
    union all
    select null, null, null, null, null, null, null
) sub1"""
PREVIOUS_BATCH = """
select coalesce(max(A.NEXT_RUN_INDICATOR), 'P') as NEXT_RUN_INDICATOR, coalesce(max(A.EXECUTION_STATUS_CODE), 'S') as EXECUTION_STATUS_CODE
from (select NEXT_RUN_INDICATOR, EXECUTION_STATUS_CODE from BATCH_INSTANCE
      where BATCH_ID = %(batch)s and END_DATETIME = (select max(END_DATETIME) from BATCH_INSTANCE where BATCH_ID = %(batch)s)) A"""
CONTROL = """
select case when ActiveInstancesCount is null then 'Process'
            when ActiveInstancesCount is not null and MinimumInstance = %(instance)s then 'Process' else 'Abort' end as ModuleActiveInstanceControl
from (select MODULE_ID, min(MODULE_INSTANCE_ID) as MinimumInstance from MODULE_INSTANCE
      where EXECUTION_STATUS_CODE = 'E' and MODULE_ID = %(module)s group by MODULE_ID) MinimumInstance
left outer join (select MODULE_ID, count(*) as ActiveInstancesCount from MODULE_INSTANCE
                 where EXECUTION_STATUS_CODE = 'E' and MODULE_ID = %(module)s and MODULE_INSTANCE_ID <> %(instance)s
                 group by MODULE_ID) ActiveInstances on ActiveInstances.MODULE_ID = MinimumInstance.MODULE_ID"""
