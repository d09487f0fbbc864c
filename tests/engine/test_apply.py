"""Apply: tables are created and widened, what would lose data is refused, and a running step keeps its version."""

from __future__ import annotations

import pytest

from dwh_assets.engine.attempt import attempt
from dwh_assets.model.errors import LineageError
from tests.engine.project import ALL, Project, row, rows


def test_a_column_is_added_or_widened_by_apply_and_never_taken_away_or_retyped(own_project: Project) -> None:
    project = own_project
    project.source("src.drift")
    project.append("src.drift", rows(0, 2))
    project.module("drift.rows", "src.drift", "select pos, id, cast(v as int) as v from {{ block }}", attempts="1")
    project.apply()
    project.load()
    project.append("src.drift", [row(5, 5, "new", 5)])
    project.module("drift.rows", "src.drift", "select pos, id, k, cast(v as bigint) as v from {{ block }}", attempts="1")
    (outcome,) = project.load()
    assert outcome.result == "parked"
    assert "table drift.rows, column v: int in the table, bigint in the output" in outcome.text
    assert project.blocks("drift.rows")[-1]["rows"] is None
    (table,) = [t for t in project.apply().tables if t.name == "drift.rows"]
    assert table.changes == ["widen column drift.rows.v from int to bigint", "add column drift.rows.k string"]
    project.acts().retry("drift.rows", "the table was widened")
    project.load()
    assert project.rows("drift.rows") == [(0, None, 0), (1, None, 1), (5, "new", 5)]
    for sql, reason in (
        ("select pos, id, v from {{ block }}", "a column is never dropped"),
        ("select pos, id, k, cast(v as string) as v from {{ block }}", "a column never changes its type"),
    ):
        project.module("drift.rows", "src.drift", sql, comment="refused")
        with pytest.raises(LineageError, match=reason):
            project.apply()
    assert project.engine.lineage.active().module("drift.rows").comment == ""


def test_a_retry_takes_the_newest_lineage(own_project: Project) -> None:
    project = own_project
    project.source("src.swap")
    project.append("src.swap", rows(0, 2))
    project.module("swap.rows", "src.swap", ALL, checks="[{rows: {min: 5}}]")
    project.apply()
    assert [o.result for o in project.load()] == ["parked"]
    project.module("swap.rows", "src.swap", ALL, checks="[{rows: {min: 1}}]")
    project.apply()
    project.acts().retry("swap.rows", "the check was wrong")
    assert attempt(project.engine, project.engine.lineage.active(), "swap.rows").result == "committed"
    found = project.engine.database.fetch("select module_version, execution_code from dwh.execution order by id")
    assert [(e["module_version"], e["execution_code"]) for e in found] == [(1, "Failed"), (2, "Succeeded")]


def test_all_problems_of_a_lineage_are_told_together_and_nothing_is_changed(own_project: Project) -> None:
    project = own_project
    project.source("src.bad")
    project.module("bad.one", "src.bad", "select pos, id, nothing from {{ block }}")
    project.module("bad.two", "src.bad", "select pos, id, v from {{ block }}", processor="upsert", key="[k]")
    with pytest.raises(LineageError) as refused:
        project.apply()
    unknown, keyless = refused.value.problems
    assert "Spark cannot analyse its transforms: [UNRESOLVED_COLUMN" in unknown
    assert len(unknown.splitlines()) == 1
    assert "bad_two.yaml:1: bad.two: Spark cannot analyse its transforms: " in keyless
    assert "`k`" in keyless
    assert not project.engine.catalog.exists("bad.two")
    assert project.engine.lineage.active().modules == ()
