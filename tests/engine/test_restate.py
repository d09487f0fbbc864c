"""Restatement, rollback, late rows, and what was built upon them."""

from __future__ import annotations

import pytest

from dwh_assets.engine.late import find_late_rows
from dwh_assets.engine.restate import late_spans, reset_backward, stale_spans
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import Position
from tests.engine.project import Project, at, row, rows

SUMS = "select max(pos) as pos, max(id) as id, k, sum(v) as v from {{ block }} group by k"


def test_blocks_restated_in_one_job_equal_blocks_loaded_one_by_one(project: Project) -> None:
    project.source("src.many")
    project.append("src.many", rows(0, 9))
    project.module("many.rows", "src.many", maxstep="3", stretch="1")
    project.module("many.sums", "src.many", SUMS, maxstep="3", stretch="1")
    project.apply()
    project.load("many.rows", "many.sums")
    for table in ("many.rows", "many.sums"):
        columns = "id, k, v, _block"
        loaded, cursor = project.rows(table, columns), project.cursor(table)
        figures = [(b["rows"], b["base_rows"], b["hash_sum"], b["max_id"]) for b in project.blocks(table)]
        outcome = project.restate(table, 2)
        assert (outcome.result, outcome.claim and len(outcome.claim.blocks)) == ("committed", 2)
        assert project.rows(table, columns) == loaded
        assert project.cursor(table) == cursor
        assert [(b["rows"], b["base_rows"], b["hash_sum"], b["max_id"]) for b in project.blocks(table)] == figures
        writers = {execution for _, execution in project.rows(table, "_block, _execution")}
        assert len(writers) == 2
    assert [f for f in project.verify() if f.topic.startswith("many.")] == []


def test_late_rows_are_found_and_loaded_and_what_was_built_upon_them_is_rebuilt(own_project: Project) -> None:
    project = own_project
    project.source("src.late")
    project.append("src.late", rows(0, 6))
    project.module("late.a", "src.late", maxstep="3", stretch="1")
    project.module("late.b", "late.a", maxstep="3", stretch="1")
    project.module("late.c", "late.b", "select k, count(*) as n from {{ block }} group by k", processor="reload")
    project.apply()
    project.load()
    lineage = project.engine.lineage.active()
    assert find_late_rows(project.engine, lineage) == {}
    project.append("src.late", [row(1.5, 99, "late", 1)])
    project.load()
    assert len(project.rows("late.a")) == 6
    (late,) = late_spans(project.engine, lineage, "late.a")
    assert (late.topic, late.first, late.last) == ("late.a", 1, 1)
    assert project.status("late.a")["late_rows"] == 1
    assert {f.severity for f in project.verify()} == {"late"}
    cursor = project.cursor("late.a")
    assert project.restate_span(late).result == "committed"
    assert (99, "late", 1) in project.rows("late.a")
    assert project.cursor("late.a") == cursor
    assert project.status("late.a")["late_rows"] == 0
    spans = stale_spans(project.engine, lineage)
    assert [span.topic for span in spans] == ["late.b", "late.c"]
    for span in spans:
        assert project.restate_span(span).result == "committed"
    assert stale_spans(project.engine, lineage) == []
    assert project.rows("late.b") == project.rows("late.a")
    assert ("late", 1) in project.rows("late.c", "k, n")
    assert project.verify() == []


def test_a_reset_backwards_takes_rows_and_cursor_back_to_the_end_of_a_block(project: Project) -> None:
    project.source("src.back")
    project.append("src.back", rows(0, 9))
    project.module("back.rows", "src.back", maxstep="3", stretch="1")
    project.apply()
    project.load("back.rows")
    lineage = project.engine.lineage.active()
    with pytest.raises(ActRefused, match=r"is not the end of a block. The nearest ends are"):
        reset_backward(project.engine, lineage, project.acts(), "back.rows", Position(at(3), 3), "a test")
    outcome = reset_backward(project.engine, lineage, project.acts(), "back.rows", Position(at(2), 2), "a test")
    assert outcome.result == "committed"
    assert project.rows("back.rows", "id") == [(0,), (1,), (2,)]
    assert project.cursor("back.rows") == Position(at(2), 2)
    project.load("back.rows")
    assert project.rows("back.rows", "id") == [(n,) for n in range(9)]
    assert [b["seq"] for b in project.blocks("back.rows")] == [1, 2, 3]


def test_a_row_between_a_shards_cursor_and_what_it_was_searched_to_is_loaded_though_nothing_newer_comes(
    own_project: Project,
) -> None:
    project = own_project
    project.source("src.t", extra="shards: [a, b]\nshard_by: k\n")
    project.module("fact.t", "src.t", shards="[a, b]", shard_by="k")
    project.module("mart.t", "fact.t")
    project.append("src.t", [row(1, 1, "a"), row(20, 2, "b")])
    project.apply()
    project.load()
    assert project.rows("mart.t") == [(1, "a", 1), (2, "b", 1)]
    project.append("src.t", [row(10, 3, "a")])
    project.load()
    assert project.rows("fact.t") == [(1, "a", 1), (2, "b", 1), (3, "a", 1)]
    for span in stale_spans(project.engine, project.lineage()):
        project.restate_span(span)
    assert project.rows("mart.t") == [(1, "a", 1), (2, "b", 1), (3, "a", 1)]
    assert project.verify() == []
