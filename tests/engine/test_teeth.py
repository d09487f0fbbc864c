"""What the schema check and a session a thread defeat: each is clean with the protection and shows the fault without it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.types import LongType

from dwh_assets.engine.engine import Engine
from dwh_assets.processors.processor import Work, mark
from dwh_assets.warehouse.branches import EXECUTION, fork, qualified
from tests.engine.project import Project, rows
from tests.faults.scenarios import switched_off


def what_a_new_column_of_the_base_becomes(project: Project, area: str) -> list[str]:
    """Base rows get a value that nobody declared; says what became of it without a word."""
    base, table = project.source(f"src.{area}"), f"{area}.rows"
    project.module(table, base, "select * from {{ block }}", attempts="1")
    project.apply()
    project.append(base, rows(0, 3))
    assert [outcome.result for outcome in project.load(table)] == ["committed"]
    with project.engine.catalog.load(base).update_schema() as update:
        update.add_column("discount", LongType())
    project.append(base, [row | {"discount": 5} for row in rows(3, 6)])
    (outcome,) = project.load(table)
    kept = project.engine.catalog.load(table).schema().column_names
    if outcome.result == "committed" and "discount" not in kept:
        return ["discounts were thrown away"]
    assert outcome.result == "parked"
    assert "discount" in outcome.text
    return []


@pytest.mark.tooth("R10", "columns")
def test_without_holding_rows_against_the_schema_a_new_column_is_lost_in_silence(project: Project) -> None:
    assert what_a_new_column_of_the_base_becomes(project, "strict") == []
    with switched_off("columns"):
        assert what_a_new_column_of_the_base_becomes(project, "lax") != []


def executions_that_two_attempts_wrote(project: Project, table: str, executions: Sequence[int]) -> list[int]:
    """Two threads mark their statements in turns, then both delete a row, each on its branch; says what the snapshots name."""
    engine = Engine(project.engine.settings, project.engine.postgres_url)
    module = project.engine.lineage.active().module(table)
    forks = [fork(engine.catalog, table, execution) for execution in executions]

    def work(number: int) -> Work:
        session, branch = engine.session(), qualified(forks[number])
        return Work(session, module, session.table(branch), branch, executions[number], ())

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        threads = (one, other)
        for number, thread in enumerate(threads):
            thread.submit(lambda n=number: mark(work(n))).result()
        for number, thread in enumerate(threads):
            delete = f"delete from {qualified(forks[number])} where v = {number}"
            thread.submit(lambda text=delete: engine.session().sql(text)).result()
    loaded = engine.catalog.load(table)
    tips = [loaded.snapshot_by_id(loaded.refs()[forked.branch].snapshot_id) for forked in forks]
    engine.close()
    return [int((tip.summary.additional_properties if tip and tip.summary else {})[EXECUTION]) for tip in tips]


@pytest.mark.tooth("R12", "session")
def test_without_a_session_for_each_thread_one_attempt_writes_in_the_name_of_another(project: Project) -> None:
    base = project.source("src.marks")
    project.module("marks.rows", base)
    project.apply()
    project.append(base, rows(0, 4))
    project.load("marks.rows")
    assert executions_that_two_attempts_wrote(project, "marks.rows", [9_001, 9_002]) == [9_001, 9_002]
    with switched_off("session"):
        assert executions_that_two_attempts_wrote(project, "marks.rows", [9_003, 9_004]) == [9_004, 9_004]
