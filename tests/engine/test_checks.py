"""Declared checks: blocking ones park their block with its rows kept aside, warnings are only recorded."""

from __future__ import annotations

import pytest

from dwh_assets.engine.sweep import sweep_branches
from dwh_assets.warehouse.branches import live
from tests.engine.project import Project, row

SOME = [row(1, 1, "a", 1), row(2, 2, None, 2), row(3, 3, "a", None), row(4, 4, "b", 4)]
CHECKS = {
    "not_null(k)": "{not_null: [k]}",
    "null_ratio(v)": "{null_ratio: {column: v, max: 0.2}}",
    "rows(min)": "{rows: {min: 5}}",
    "rows(max_ratio)": "{rows: {max_ratio: 0.5}}",
    "unique(k)": "{unique: [k]}",
    "expect(small)": "{expect: {name: small, predicate: v < 3}}",
}


@pytest.fixture(scope="module")
def source(project: Project) -> str:
    project.source("src.checked")
    project.append("src.checked", SOME)
    return "src.checked"


def test_every_kind_of_check_blocks_and_the_block_can_be_released_one_check_after_the_other(
    project: Project, source: str
) -> None:
    project.module("check.all", source, checks=f"[{', '.join(CHECKS.values())}]", attempts="5")
    project.apply()
    (outcome,) = project.load("check.all")
    assert outcome.result == "parked"
    assert all(name in outcome.text for name in CHECKS), outcome.text
    assert "Nothing of it was published" in outcome.text
    assert project.rows("check.all") == []
    assert project.status("check.all")["verdict"] == "BACKOFF"
    assert project.load("check.all") == []
    branch = f"x{outcome.claim.execution_id}" if outcome.claim else ""
    sweep_branches(project.engine, project.engine.lineage.active())
    assert live(project.engine.catalog, "check.all") == [branch]
    for name in CHECKS:
        project.acts().release("check.all", name, "known")
    assert [o.result for o in project.load("check.all")] == ["committed"]
    assert len(project.rows("check.all")) == 4
    (block,) = project.blocks("check.all")
    assert {c["name"]: c["passed"] for c in block["checks"]} == dict.fromkeys(CHECKS, False)
    sweep_branches(project.engine, project.engine.lineage.active())
    assert live(project.engine.catalog, "check.all") == []


def test_a_warning_is_recorded_and_blocks_nothing(project: Project, source: str) -> None:
    warns = [
        "{not_null: {columns: [k], severity: warn}}",
        "{null_ratio: {column: v, max: 0.2, severity: warn}}",
        "{rows: {min: 5, severity: warn}}",
        "{unique: {columns: [k], severity: warn}}",
        "{expect: {name: small, predicate: v < 3, severity: warn}}",
        "{rows: {min_ratio: 1.0, max_ratio: 1.0}}",
    ]
    project.module("check.warn", source, checks=f"[{', '.join(warns)}]")
    project.apply()
    assert [o.result for o in project.load("check.warn")] == ["committed"]
    (block,) = project.blocks("check.warn")
    assert [c["passed"] for c in block["checks"]] == [False] * 5 + [True]
    assert {c["name"]: c["value"] for c in block["checks"]}["null_ratio(v)"] == 0.25


def test_a_parked_block_can_be_retried_after_repair_or_skipped_while_others_go_on(project: Project, source: str) -> None:
    project.module("check.fixed", source, checks="[{not_null: [k]}]", maxstep="2", stretch="1")
    project.module("check.skipped", source, checks="[{not_null: [k]}]", maxstep="2", stretch="1")
    project.apply()
    assert {o.topic: o.result for o in project.load("check.fixed", "check.skipped")} == dict.fromkeys(
        ("check.fixed", "check.skipped"), "parked"
    )
    project.acts().skip("check.skipped", "lost")
    project.write("sql/transforms/t/check_fixed_0.sql", "select pos, id, coalesce(k, '?') as k, v from {{ block }}")
    project.acts().retry("check.fixed", "repaired")
    project.load("check.fixed", "check.skipped")
    assert project.rows("check.fixed", "id, k") == [(1, "a"), (2, "?"), (3, "a"), (4, "b")]
    assert project.rows("check.skipped", "id") == [(3,), (4,)]
    assert [b["status"] for b in project.blocks("check.skipped")] == ["skipped", "committed"]
    assert [f for f in project.verify() if f.topic.startswith("check.")] == []
