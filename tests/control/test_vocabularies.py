# ruff: noqa: E501 - SQL
"""The queries that the three documents contain, asked of the views with their names; only the dialect was changed."""

from __future__ import annotations

from typing import Any

import pytest

from dwh_assets.control.database import Database
from tests.control.documents import (
    CONTROL,
    ERROR_COUNT,
    KTR_LIST,
    NEXT_STEP,
    OTHERS,
    PREVIOUS,
    PREVIOUS_BATCH,
    RUNNING,
    VALID_JOB,
    asked,
)
from tests.control.small import TOPIC, Store, ready

Row = dict[str, Any]
COLUMNS = {
    "sch.offsets": "topic last rows next run processor state hostid",
    "sch.lineagesource": "table depends_on processor transforms delay repeat maxstep comment before after user updated_at",
    "sch.lineage": "table depends_on processor transforms delay repeat maxstep comment before after user updated_at",
    "sch.logstore": "topic ts rows max_id min_ts max_ts max_lag nulls query_id",
    "sch.log": "topic ts rows max_id min_ts max_ts max_lag nulls query_id",
    "kettle.t_etl_kjb_log": "log_id kjb_name begin_dttm end_dttm status",
    "kettle.v_etl_kjb_log": "kjb_name begin_dttm end_dttm status",
    "kettle.t_etl_tbl_log": "log_id kjb_name ktr_name tbl_name begin_dttm end_dttm status row_count error_count",
    "kettle.v_etl_tbl_log": "kjb_name ktr_name tbl_name begin_dttm end_dttm status row_count error_count",
    "kettle.t_etl_kjb_cfg": "cfg_id kjb_name kjb_type is_enabled retries",
    "kettle.t_etl_std_ktr_cfg": "cfg_id kjb_name ktr_name ktr_path tbl_name is_enabled",
    "kettle.t_etl_std_dep_cfg": "cfg_id tbl_to tbl_from tbl_from_is_etl",
    "kettle.v_etl_std_dep_cfg": "tbl_to tbl_from tbl_from_is_etl tbl_to_end_dttm tbl_to_status tbl_from_end_dttm tbl_from_status",
    "kettle.t_etl_maint_ktr_cfg": "cfg_id kjb_name ktr_name ktr_path tbl_name is_enabled exec_order",
    "direct.batch": "batch_id batch_code frequency_code batch_description inactive_indicator",
    "direct.batch_instance": "batch_instance_id batch_id start_datetime end_datetime execution_status_code processing_indicator next_run_indicator",
    "direct.module": "module_id area_code module_code module_type_code module_description inactive_indicator",
    "direct.module_instance": "module_instance_id module_id batch_instance_id start_datetime end_datetime execution_status_code "
    "processing_indicator next_run_indicator rows_read rows_inserted rows_updated rows_deleted rows_discarded rows_rejected",
    "direct.batch_module": "batch_id module_id inactive_indicator",
    "direct.data_store": "data_store_id data_store_code data_store_type_code data_store_description allow_truncate_indicator",
    "direct.module_data_store": "module_id data_store_id relationship_type",
    "direct.parameter": "parameter_id parameter_key_code parameter_value_code parameter_description",
    "direct.module_parameter": "module_id parameter_id",
    "direct.event_log": "batch_instance_id module_instance_id event_datetime event_type_code event_return_code_details event_detail error_bitmap",
    "direct.source_control": "module_instance_id",
    "direct.area": "area_code",
    "direct.layer": "layer_code",
    "direct.event_type": "event_type_code",
    "direct.execution_status": "execution_status_code",
    "direct.processing_indicator": "processing_indicator",
    "direct.next_run_indicator": "next_run_indicator",
}


@pytest.mark.parametrize("view", COLUMNS)
def test_a_view_has_the_columns_of_its_document(module_database: Database, view: str) -> None:
    schema, _, name = view.partition(".")
    found = module_database.fetch(
        "select column_name as c from information_schema.columns where table_schema = %(schema)s and table_name = %(name)s",
        schema=schema,
        name=name,
    )
    assert set(COLUMNS[view].split()) <= {row["c"] for row in found}


@pytest.fixture
def store(database: Database) -> Store:
    """A topic with two blocks: the first failed once and was then loaded, in a batch; the second waits."""
    store = ready(database, 1, 2)
    put_batch(store, "nightly", "STANDARD")
    put_batch(store, "tidy", "MAINTENANCE")
    return store


def put_batch(store: Store, name: str, kind: str) -> None:
    store.database.execute(
        "insert into dwh.batch (name, kind, retries, spec) values (%(name)s, %(kind)s, 3, '{}')", name=name, kind=kind
    )
    store.database.execute("insert into dwh.batch_module (batch, module, sequence) values (%(name)s, 'fact.sales', 1)", name=name)


def begin(store: Store, batch: str) -> int:
    row = store.database.fetch_one(
        "insert into dwh.batch_instance (batch, started_by, worker, lease_until, execution_code, processing_code, next_run_code) "
        "values (%(batch)s, 'hand', 'w', now() + interval '1 minute', 'Executing', 'Proceed', 'Proceed') returning id",
        batch=batch,
    )
    assert row is not None
    return row["id"]


def end(store: Store, instance: int, code: str, failed: str = "{}") -> None:
    store.database.execute(
        "update dwh.batch_instance set execution_code = %(code)s, ended_at = clock_timestamp(), lease_until = null, failed = %(failed)s "
        "where id = %(id)s",
        id=instance,
        code=code,
        failed=failed,
    )


def attempt(store: Store, instance: int, succeeds: bool) -> int:
    """An attempt at the topic's first block, as part of a batch."""
    claim = store.claims().claim(TOPIC)
    store.database.execute(
        "update dwh.execution set batch_instance_id = %(batch)s where id = %(id)s", batch=instance, id=claim.execution_id
    )
    if succeeds:
        store.commit(claim)
    else:
        store.claims().fail(claim, "it broke", counts=True)
    return claim.execution_id


def ask(store: Store, query: str, **values: Any) -> list[Row]:
    return store.database.fetch(query.encode(), **values)


def table_log(store: Store) -> list[Row]:
    return ask(store, "select * from kettle.t_etl_tbl_log order by log_id")


def test_attempts_of_a_batch_are_one_row_of_the_table_log_and_are_counted(store: Store) -> None:
    instance = begin(store, "nightly")
    first = attempt(store, instance, succeeds=False)
    [row] = table_log(store)
    assert (row["status"], row["error_count"], row["end_dttm"].year) == ("Running", 1, 1970)  # it will be tried again
    attempt(store, instance, succeeds=True)
    end(store, instance, "Succeeded")
    [row] = table_log(store)
    assert (row["log_id"], row["kjb_name"], row["ktr_name"], row["tbl_name"]) == (first, "nightly", TOPIC, TOPIC)
    assert (row["status"], row["row_count"], row["error_count"]) == ("Completed", 10, 1)
    assert row["end_dttm"] > row["begin_dttm"]


def test_what_was_loaded_without_a_batch_has_a_row_per_block(store: Store) -> None:
    store.load()
    store.load()
    assert [(row["kjb_name"], row["status"], row["row_count"]) for row in table_log(store)] == [("", "Completed", 10)] * 2


@pytest.mark.parametrize(("batch", "status"), [("nightly", "Completed"), ("tidy", "Failed")])
def test_only_a_standard_job_is_completed_in_spite_of_a_failed_table(store: Store, batch: str, status: str) -> None:
    instance = begin(store, batch)
    assert ask(store, "select status from kettle.v_etl_kjb_log") == [{"status": "Running"}]
    attempt(store, instance, succeeds=False)
    end(store, instance, "Failed", "{fact.sales}")
    assert ask(store, "select status from kettle.v_etl_kjb_log") == [{"status": status}]
    assert ask(store, "select status, error_count from kettle.v_etl_tbl_log") == [{"status": "Failed", "error_count": 1}]
    assert ask(store, "select execution_status_code as c from direct.batch_instance where batch_id > 0") == [{"c": "F"}]


def test_a_standard_job_whose_worker_was_lost_is_failed(store: Store) -> None:
    end(store, begin(store, "nightly"), "Failed")
    assert ask(store, "select status from kettle.t_etl_kjb_log") == [{"status": "Failed"}]


def test_refused_and_cancelled_runs_have_no_row_in_kettle(store: Store) -> None:
    end(store, begin(store, "nightly"), "Cancelled")
    store.claims().claim(TOPIC)
    store.acts.unlock(TOPIC, "hung")
    assert ask(store, "select * from kettle.t_etl_kjb_log") == table_log(store) == []


def kettle(store: Store, query: str, **values: Any) -> list[Row]:
    return asked(store.database, "kettle", query, **values)


def test_the_queries_of_the_kettle_document_are_answered(store: Store) -> None:
    assert kettle(store, VALID_JOB, kjb="nightly") == [{"is_enabled": "Y", "retries": 3}]
    assert kettle(store, VALID_JOB, kjb="tidy") == kettle(store, VALID_JOB, kjb="unknown") == []
    eligible = [{"ktr_name": TOPIC, "ktr_path": "x.sql", "tbl_name": TOPIC}]
    assert kettle(store, KTR_LIST, kjb="nightly") == eligible  # never run
    instance = begin(store, "nightly")
    attempt(store, instance, succeeds=False)
    end(store, instance, "Failed", "{fact.sales}")
    assert kettle(store, KTR_LIST, kjb="nightly") == eligible  # failed
    instance = begin(store, "nightly")
    attempt(store, instance, succeeds=True)
    end(store, instance, "Succeeded")
    assert kettle(store, KTR_LIST, kjb="nightly") == []  # succeeded today
    assert kettle(store, ERROR_COUNT, kjb="nightly", ktr=TOPIC, tbl=TOPIC) == [{"error_count": 0}]
    assert [row["exec_order"] for row in kettle(store, NEXT_STEP, kjb="tidy", order=0)] == [1]
    assert kettle(store, NEXT_STEP, kjb="tidy", order=1) == []


def direct(store: Store, query: str, **values: Any) -> list[Row]:
    return asked(store.database, "direct", query, **values)


def numbers(store: Store) -> tuple[int, int]:
    """Of the module and of its batch."""
    [module] = direct(store, "select MODULE_ID, BATCH_ID from MODULE where MODULE_CODE = %(code)s", code=TOPIC)
    return module["module_id"], module["batch_id"]


def test_the_queries_of_the_direct_document_are_answered(store: Store) -> None:
    module, batch = numbers(store)
    [nothing] = direct(store, PREVIOUS, module=module)
    assert (nothing["LastModuleInstanceID"], nothing["LastExecutionStatus"], nothing["LastModuleInstanceIDList"]) == (
        -1,
        "I",
        "-1",
    )
    assert direct(store, PREVIOUS_BATCH, batch=batch) == [{"next_run_indicator": "P", "execution_status_code": "S"}]
    instance = begin(store, "nightly")
    assert direct(store, RUNNING, batch=batch) == [{"batch_instance_id": instance, "processing_indicator": "P"}]
    assert direct(store, OTHERS, batch=batch, instance=instance) == [{"activeinstancescount": 0}]
    failed = [attempt(store, instance, succeeds=False) for _ in range(2)]
    end(store, instance, "Failed", "{fact.sales}")
    [previous] = direct(store, PREVIOUS, module=module)
    assert (previous["LastBatchInstanceID"], previous["LastModuleInstanceID"]) == (instance, failed[-1])
    assert (previous["LastExecutionStatus"], previous["LastNextExecutionFlag"]) == ("F", "R")
    assert previous["LastModuleInstanceIDList"] == f"({failed[0]},{failed[1]})"
    assert direct(store, PREVIOUS_BATCH, batch=batch)[0]["execution_status_code"] == "F"
    running = store.claims().claim(TOPIC).execution_id
    assert direct(store, CONTROL, module=module, instance=running) == [{"moduleactiveinstancecontrol": "Process"}]
    assert direct(store, CONTROL, module=module, instance=running + 1) == [{"moduleactiveinstancecontrol": "Abort"}]


def test_direct_tells_rows_windows_events_and_relations_of_an_instance(store: Store) -> None:
    claim = store.load()
    [row] = direct(store, "select * from MODULE_INSTANCE")
    assert (row["rows_read"], row["rows_inserted"], row["rows_deleted"], row["batch_instance_id"]) == (10, 10, 0, 0)
    [window] = direct(store, "select * from SOURCE_CONTROL where MODULE_INSTANCE_ID = %(id)s", id=claim.execution_id)
    assert window["interval_end_datetime"] == claim.bounds.next.pos
    stores = "select S.DATA_STORE_CODE, R.RELATIONSHIP_TYPE from MODULE_DATA_STORE R join DATA_STORE S on S.DATA_STORE_ID = R.DATA_STORE_ID"
    found = {(row["data_store_code"], row["relationship_type"]) for row in direct(store, stores)}
    assert found == {(TOPIC, "Target"), ("src.sales", "Source")}
    types = "select T.EVENT_TYPE_DESCRIPTION as d from EVENT_LOG E join EVENT_TYPE T on T.EVENT_TYPE_CODE = E.EVENT_TYPE_CODE"
    assert {row["d"] for row in direct(store, types)} == {"act"}


def test_the_scheduler_finds_its_offsets_lineage_and_log(store: Store) -> None:
    claim = store.claims().claim(TOPIC)
    query = "select topic, (last).pos as last, (next).pos as next, rows, processor, state, hostid from SCH.Offsets where topic = %(topic)s"
    [busy] = ask(store, query, topic=TOPIC)
    assert (busy["hostid"], busy["next"], busy["rows"]) == ("w1", claim.bounds.next.pos, 10)
    store.commit(claim)
    [free] = ask(store, query, topic=TOPIC)
    assert (free["hostid"], free["processor"], free["last"], free["next"]) == ("", "Step", busy["next"], busy["next"])
    assert ask(store, query, topic="src.sales")[0]["last"] is not None
    assert ask(store, "select topic from SCH.Offsets where (last).pos > %(pos)s and last = next", pos=busy["last"])
    [line] = ask(store, 'select "table", depends_on, transforms, delay, repeat, maxstep, "user" from SCH.Lineage')
    assert (line["table"], line["depends_on"], line["transforms"], line["user"]) == (TOPIC, "src.sales", "x.sql", "ann")
    assert (line["delay"], line["maxstep"]) == ("0", "1000000")
    [log] = ask(store, "select topic, rows, query_id from SCH.Log where topic = %(topic)s", topic=TOPIC)
    assert (log["rows"], log["query_id"]) == (10, claim.execution_id)
    assert ask(store, "select duration, memory_usage, read_bytes, written_bytes from SCH.LogExt")[0]["duration"] == 1.0
    assert {row["topic"] for row in ask(store, "select topic, state, reason from SCH.LagLive")} == {TOPIC}
    assert ask(store, "select * from SCH.ErrLog") == []
