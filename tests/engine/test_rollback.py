"""Rollback beside a loop that loads on."""

from __future__ import annotations

from collections.abc import Callable

from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.rollback import carry_out_rollback, plan_rollback
from tests.engine.project import Project, at, rows


def test_what_a_loop_builds_upon_rows_that_then_go_is_taken_back_in_a_further_round(own_project: Project) -> None:
    project = own_project
    project.source("src.r")
    project.append("src.r", rows(0, 6))
    project.module("roll.a", "src.r", maxstep="3", stretch="1")
    project.module("roll.b", "roll.a", maxstep="3", stretch="1")
    project.apply()
    project.load("roll.a")
    project.load("roll.b")
    lineage, carried = project.engine.lineage.active(), list[str]()

    def carry(topic: str, act: Callable[[], Outcome]) -> Outcome:
        carried.append(topic)
        outcome = act()
        if carried == ["roll.b"]:
            project.load("roll.b")  # a loop that is quicker than we are
        return outcome

    plan = plan_rollback(project.engine, lineage, "roll.a", 2, at(2))
    carry_out_rollback(project.engine, lineage, project.acts(), plan, "a test", carry)
    assert carried == ["roll.b", "roll.a", "roll.b"]
    assert [b["seq"] for t in ("roll.a", "roll.b") for b in project.blocks(t)] == [1, 1]
    assert project.rows("roll.b", "id") == [(0,), (1,), (2,)]
    assert project.verify() == []
    project.load("roll.a")
    project.load("roll.b")
    assert project.rows("roll.b", "id") == [(n,) for n in range(6)]
    assert project.verify() == []
