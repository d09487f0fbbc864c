"""The acceptance cases of batches (D13), started from Dagster: a job each, of commands, and of a table alone."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import ExecuteInProcessResult

from dwh_assets.control.batches import Begin
from tests.engine.project import rows
from tests.orchestration.dag import Dag

COMMANDS = {"good": "true", "other": "true", "shaky": "test -e mended", "off": "true"}
BATCHES = {
    "one": "modules: [ops.good]",
    "two": "modules: [ops.other, ops.shaky]\nretries: 1",
    "child": "modules: [ops.good]",
    "parent": "batches: [child, one]",
    "with_disabled": "modules: [ops.good, ops.off, {module: ops.other, active: false}]",
    "disabled": "modules: [ops.good]\nactive: false",
}


@pytest.fixture(scope="module")
def cases(dag: Dag) -> Dag:
    for name, script in COMMANDS.items():
        active = name != "off"
        text = f"module: ops.{name}\ncommand: [sh, -c, '{script}']\nactive: {str(active).lower()}\n"
        dag.project.write(f"lineage/ops/{name}.yaml", text)
    for name, text in BATCHES.items():
        dag.project.write(f"lineage/batches/{name}.yaml", f"batch: {name}\n{text}\n")
    dag.project.source("src.alone")
    dag.project.append("src.alone", rows(0, 4))
    dag.project.module("alone.rows", "src.alone")
    dag.project.apply()
    return dag


def run(cases: Dag, name: str) -> ExecuteInProcessResult:
    job = cases.definitions.resolve_job_def(f"batch_{name}")
    return job.execute_in_process(instance=cases.instance, raise_on_error=False)


def instances(cases: Dag, name: str) -> list[tuple[Any, ...]]:
    query = "select execution_code, processing_code from dwh.batch_instance where batch = %(name)s order by id"
    return [tuple(row.values()) for row in cases.project.engine.database.fetch(query, name=name)]


def parts(cases: Dag, name: str) -> dict[str, tuple[Any, ...]]:
    """The codes of the modules in the newest instance."""
    found = cases.project.engine.database.fetch(
        "select t.name, e.execution_code, e.processing_code from dwh.execution e join dwh.topic t on t.id = e.topic_id"
        " where e.batch_instance_id = (select max(id) from dwh.batch_instance where batch = %(name)s)",
        name=name,
    )
    return {row["name"]: (row["execution_code"], row["processing_code"]) for row in found}


def test_9_a_batch_of_one_is_a_run_that_succeeds(cases: Dag) -> None:
    assert run(cases, "one").success
    assert instances(cases, "one") == [("Succeeded", "Proceed")]


def test_10_and_11_a_failed_part_fails_the_run_by_its_name_and_the_next_run_makes_it_good(cases: Dag) -> None:
    failed = run(cases, "two")
    assert not failed.success
    assert "batch two: ops.shaky: ops.shaky ended with exit code 1" in str(failed.all_node_events)
    assert parts(cases, "two") == {"ops.other": ("Succeeded", "Proceed"), "ops.shaky": ("Failed", "Proceed")}
    cases.project.write("mended", "")
    assert run(cases, "two").success
    assert parts(cases, "two") == {"ops.other": ("Cancelled", "Cancel"), "ops.shaky": ("Succeeded", "Rollback")}


def test_13_a_parent_runs_its_children(cases: Dag) -> None:
    assert run(cases, "parent").success
    assert (instances(cases, "parent"), instances(cases, "child")) == ([("Succeeded", "Proceed")],) * 2


def test_15_and_16_what_is_switched_off_is_cancelled_and_fails_nothing(cases: Dag) -> None:
    assert run(cases, "with_disabled").success
    assert parts(cases, "with_disabled") == {
        "ops.good": ("Succeeded", "Proceed"),
        "ops.off": ("Cancelled", "Cancel"),
        "ops.other": ("Cancelled", "Cancel"),
    }
    assert run(cases, "disabled").success
    assert (instances(cases, "disabled"), parts(cases, "disabled")) == ([("Cancelled", "Cancel")], {})


def test_4_a_batch_that_runs_already_is_a_failed_run_and_the_other_goes_on(cases: Dag) -> None:
    begun = cases.project.engine.batches.begin("one", Begin())
    assert not run(cases, "one").success
    assert instances(cases, "one")[-2:] == [("Executing", "Proceed"), ("Aborted", "Abort")]
    cases.project.engine.batches.end(begun, "done")


def test_1_3_and_7_a_table_that_a_run_loads_carries_the_same_codes(cases: Dag) -> None:
    transform = cases.project.folder / "sql/transforms/t/alone_rows_0.sql"
    good = transform.read_text()
    transform.write_text(good.replace("v from", "no_such as v from"))
    for _ in range(2):
        assert not cases.carry_out(cases.requests("alone")[0]).success
    transform.write_text(good)
    assert cases.carry_out(cases.requests("alone")[0]).success
    query = (
        "select e.execution_code, e.processing_code, e.next_run_code from dwh.execution e join dwh.topic t on t.id = e.topic_id"
        " where t.name = 'alone.rows' order by e.id"
    )
    found = [tuple(row.values()) for row in cases.project.engine.database.fetch(query)]
    assert found == [("Failed", "Proceed", "Rollback"), ("Failed", "Rollback", "Rollback"), ("Succeeded", "Rollback", "Proceed")]
