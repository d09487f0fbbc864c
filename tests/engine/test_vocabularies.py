# ruff: noqa: E501 - SQL
"""The queries of the documents, asked of a warehouse that was really loaded. Batches are filled by hand."""

from __future__ import annotations

from tests.control.documents import KTR_LIST, PREVIOUS, PREVIOUS_BATCH, VALID_JOB, asked
from tests.engine.project import Project, at, rows

_BATCH = "insert into dwh.batch (name, kind, retries, spec) values ('nightly', 'STANDARD', 3, '{}')"
_LINKS = "insert into dwh.batch_module (batch, module, sequence) values ('nightly', 'fact.a', 1), ('nightly', 'fact.b', 2)"
_INSTANCE = """insert into dwh.batch_instance (batch, started_by, worker, execution_code, processing_code, next_run_code, started_at, ended_at)
select 'nightly', 'hand', 'w', 'Succeeded', 'Proceed', 'Proceed', min(started_at), max(ended_at) from dwh.execution"""
_IN_BATCH = "update dwh.execution set batch_instance_id = (select max(id) from dwh.batch_instance)"


def test_the_queries_of_the_documents_are_answered_by_a_loaded_warehouse(own_project: Project) -> None:
    project, database = own_project, own_project.engine.database
    project.source("src.vocabulary")
    project.module("fact.a", "src.vocabulary", maxstep="10", stretch="1")
    project.module("fact.b", "fact.a")
    project.append("src.vocabulary", rows(0, 30))
    project.apply()
    assert {outcome.result for outcome in project.load()} == {"committed"}
    for statement in (_BATCH, _LINKS, _INSTANCE, _IN_BATCH):
        database.execute(statement.encode())

    offsets = database.fetch("select topic, (last).pos as pos, (last).id as id, hostid from SCH.Offsets order by topic")
    assert [(row["topic"], row["pos"], row["hostid"]) for row in offsets][:2] == [("fact.a", at(29), ""), ("fact.b", at(29), "")]
    log = database.fetch("select topic, sum(rows)::bigint as rows, max(max_ts) as max_ts from SCH.Log group by topic")
    assert {row["topic"]: row["rows"] for row in log} == {"fact.a": 30, "fact.b": 30}

    assert asked(database, "kettle", VALID_JOB, kjb="nightly") == [{"is_enabled": "Y", "retries": 3}]
    latest = asked(database, "kettle", "select tbl_name, status, row_count, error_count from v_etl_tbl_log order by tbl_name")
    assert [tuple(row.values()) for row in latest] == [("fact.a", "Completed", 30, 0), ("fact.b", "Completed", 30, 0)]
    assert asked(database, "kettle", "select kjb_name, status from v_etl_kjb_log") == [
        {"kjb_name": "nightly", "status": "Completed"}
    ]
    assert asked(database, "kettle", KTR_LIST, kjb="nightly") == []  # both succeeded today

    [module] = asked(database, "direct", "select MODULE_ID, BATCH_ID from MODULE where MODULE_CODE = 'fact.b'")
    [previous] = asked(database, "direct", PREVIOUS, module=module["module_id"])
    assert (previous["LastExecutionStatus"], previous["LastModuleInstanceIDList"]) == ("S", "-1")
    assert asked(database, "direct", PREVIOUS_BATCH, batch=module["batch_id"])[0]["execution_status_code"] == "S"
    assert database.fetch("select * from dwh.report_no_audit") == []
