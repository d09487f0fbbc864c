"""The sixteen acceptance cases of the control framework (D13), through the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.database import Database
from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project, project_on

GOOD = "select pos, id, amount from {{ block }}\n"
BAD = "select pos, id, no_such_column as amount from {{ block }}\n"
TABLES = ("alone", "failing", "aborting", "thrice", "off", "single", "first", "second", "parted", "left", "linked", "kept")
BATCHES = {
    "of_one": "modules: [case.single]\n",
    "of_two": "modules: [case.first, case.second]\nretries: 1\n",
    "child": "modules: [case.left]\n",
    "other_child": "modules: [case.kept]\n",
    "parent": "batches: [child, other_child]\n",
    "with_disabled": "modules: [case.parted, case.off, {module: case.linked, active: false}]\n",
    "disabled": "modules: [case.parted]\nactive: false\n",
}


def write_case(project: Project, name: str, sql: str = GOOD) -> None:
    (project.folder / f"sql/transforms/case/{name}.sql").write_text(sql)


def module(name: str) -> str:
    active = "active: false\n" if name == "off" else ""
    return f"table: case.{name}\ndepends_on: [stage.orders]\nattempts: 20\nbackoff: 0s\nrepeat: 1d\n{active}"


@pytest.fixture(scope="module")
def cases(
    postgres_url: str, template: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """One module for each case, so that none sees what another one left behind."""
    folder = tmp_path_factory.mktemp("cases")
    with project_on(postgres_url, template, spark_server.start(), folder) as made:
        for old in ("fact/orders", "mart/totals"):
            (folder / f"lineage/{old}.yaml").unlink()
        for path in ("lineage/case", "lineage/batches", "sql/transforms/case"):
            (folder / path).mkdir(parents=True)
        for name in TABLES:
            (folder / f"lineage/case/{name}.yaml").write_text(module(name))
            write_case(made, name)
        for name, text in BATCHES.items():
            (folder / f"lineage/batches/{name}.yaml").write_text(f"batch: {name}\n{text}")
        (folder / "lineage/case/custom.yaml").write_text("module: case.custom\npython: custom:work\n")
        (folder / "custom.py").write_text("def work():\n    return 3\n")
        made.deliver(range(1, 6))
        made.ok("lineage", "apply", "--yes")
        yield made


def run(project: Project, name: str, code: int = 0) -> dict[str, Any]:
    answer = project.dwh("start", f"case.{name}", "--json")
    assert answer.code == code, answer.out + answer.err
    return answer.json["instances"][0]


def codes(instance: dict[str, Any]) -> tuple[str, str, str]:
    return instance["execution_code"], instance["processing_code"], instance["next_run_code"]


def fail(project: Project, name: str) -> dict[str, Any]:
    write_case(project, name, BAD)
    try:
        return run(project, name, 1)
    finally:
        write_case(project, name)


def batch(project: Project, name: str, code: int = 0) -> dict[str, Any]:
    answer = project.dwh("batch", "run", name, "--json")
    assert answer.code == code, answer.out + answer.err
    return answer.json


def parts(project: Project, name: str) -> dict[str, tuple[str, str]]:
    shown = project.ok("batch", "show", name, "--json").json
    return {part["name"]: (part["execution_code"], part["processing_code"]) for part in shown["parts"]}


def events(project: Project, name: str) -> list[dict[str, Any]]:
    found = project.ok("log", "--events", "-t", f"case.{name}", "--json", "-n", "1000").json
    return [event for event in found if event["code"] == "FAILED"]


def test_1_a_run_succeeds(cases: Project) -> None:
    assert codes(run(cases, "alone")) == ("Succeeded", "Proceed", "Proceed")


def test_2_custom_code_succeeds_in_the_same_way(cases: Project) -> None:
    instance = run(cases, "custom")
    assert (codes(instance), instance["rows"]) == (("Succeeded", "Proceed", "Proceed"), 3)


def test_3_a_failure_asks_the_next_run_to_roll_back_and_is_one_event(cases: Project) -> None:
    assert codes(fail(cases, "failing")) == ("Failed", "Proceed", "Rollback")
    assert len(events(cases, "failing")) == 1


def test_4_and_5_a_start_beside_a_running_one_aborts_and_hides_no_failure(cases: Project) -> None:
    failed = fail(cases, "aborting")
    database = Database(cases.environment["DWH_POSTGRES_URL"])
    other = ClaimStore(database, "other", 60)
    claim = other.claim("case.aborting", force=True)
    aborted = run(cases, "aborting", 4)
    assert codes(aborted) == ("Aborted", "Abort", "Proceed")
    assert other.outcome(claim) == "Executing"
    other.fail(claim, "it failed too", counts=True)
    database.close()
    recovered = run(cases, "aborting")
    assert codes(recovered) == ("Succeeded", "Rollback", "Proceed")
    assert f"as they had failed: executions {claim.execution_id}" in recovered["explanation"]
    assert recovered["instance"] > aborted["instance"] > failed["instance"]


def test_6_and_14_an_inactive_module_is_cancelled(cases: Project) -> None:
    assert codes(run(cases, "off")) == ("Cancelled", "Cancel", "Proceed")


def test_7_three_failures_are_all_rolled_back_by_the_recovery(cases: Project) -> None:
    failures = [fail(cases, "thrice")["instance"] for _ in range(3)]
    assert codes(run(cases, "thrice")) == ("Succeeded", "Rollback", "Proceed")
    database = Database(cases.environment["DWH_POSTGRES_URL"])
    rows = database.fetch("select rolled_back_by from dwh.execution where id = any (%(ids)s)", ids=failures)
    database.close()
    assert all(row["rolled_back_by"] is not None for row in rows)
    assert cases.ok("verify", "--json").json == []


def test_8_an_unknown_module_is_an_error_and_leaves_no_instance(cases: Project) -> None:
    answer = cases.dwh("start", "case.nobody")
    assert answer.code == 2
    assert "there is no module 'case.nobody'" in answer.err
    unknown = cases.dwh("batch", "run", "of_tow")
    assert unknown.code == 2
    assert "Did you mean of_two" in unknown.err


def test_9_a_batch_of_one_succeeds_with_it(cases: Project) -> None:
    assert batch(cases, "of_one")["code"] == "Succeeded"
    assert parts(cases, "of_one") == {"case.single": ("Succeeded", "Proceed")}


def test_10_and_11_a_batch_whose_second_fails_is_made_good_by_the_next_run(cases: Project) -> None:
    write_case(cases, "second", BAD)
    failed = batch(cases, "of_two", 1)
    assert failed["code"] == "Failed"
    assert failed["text"].startswith("case.second: ")
    assert parts(cases, "of_two") == {"case.first": ("Succeeded", "Proceed"), "case.second": ("Failed", "Proceed")}
    write_case(cases, "second")
    assert batch(cases, "of_two")["code"] == "Succeeded"
    assert parts(cases, "of_two") == {"case.first": ("Cancelled", "Cancel"), "case.second": ("Succeeded", "Rollback")}


def test_12_a_batch_is_part_of_a_parent_once_and_a_cycle_is_refused(cases: Project) -> None:
    assert list(parts(cases, "parent")) == ["child", "other_child"]
    file = cases.folder / "lineage/batches/child.yaml"
    kept = file.read_text()
    file.write_text(kept + "batches: [parent]\n")
    answer = cases.dwh("lineage", "apply", "--yes")
    file.write_text(kept)
    assert answer.code == 2
    assert "lineage/batches/child.yaml:3: batches: closes a cycle: child -> parent -> child" in answer.err


def test_13_a_parent_runs_its_children_in_order(cases: Project) -> None:
    ran = batch(cases, "parent")
    assert (ran["code"], [part["name"] for part in ran["parts"]]) == ("Succeeded", ["child", "other_child"])
    assert parts(cases, "child") == {"case.left": ("Succeeded", "Proceed")}


def test_15_disabled_modules_in_a_batch_are_cancelled_and_the_batch_succeeds(cases: Project) -> None:
    assert batch(cases, "with_disabled")["code"] == "Succeeded"
    assert parts(cases, "with_disabled") == {
        "case.parted": ("Succeeded", "Proceed"),
        "case.off": ("Cancelled", "Cancel"),
        "case.linked": ("Cancelled", "Cancel"),
    }


def test_16_a_disabled_batch_is_cancelled_and_starts_no_module(cases: Project) -> None:
    ran = batch(cases, "disabled")
    assert (ran["code"], ran["processing_code"], ran["parts"]) == ("Cancelled", "Cancel", [])


def test_a_person_cancels_the_next_run_once(cases: Project) -> None:
    cases.ok("next-run", "case.custom", "cancel", "--reason", "not today")
    assert codes(run(cases, "custom")) == ("Cancelled", "Cancel", "Proceed")
    assert codes(run(cases, "custom")) == ("Succeeded", "Proceed", "Proceed")
    cases.ok("next-run", "of_one", "cancel", "--reason", "not today")
    assert [batch(cases, "of_one")["code"] for _ in range(2)] == ["Cancelled", "Succeeded"]


def test_a_person_has_the_last_run_of_a_batch_rolled_back_and_run_again(cases: Project) -> None:
    before = cases.ok("blocks", "case.single", "--json").json
    cases.ok("next-run", "of_one", "rollback", "--reason", "the source was wrong")
    ran = batch(cases, "of_one")
    after = cases.ok("blocks", "case.single", "--json").json
    assert (ran["code"], ran["processing_code"], len(before), len(after)) == ("Succeeded", "Rollback", 1, 1)
    assert before[0]["id"] != after[0]["id"]
    assert cases.ok("verify", "--json").json == []


def test_what_was_asked_of_a_run_needs_a_reason(cases: Project) -> None:
    assert cases.dwh("next-run", "of_one", "cancel", "--reason", " ").code == 2
