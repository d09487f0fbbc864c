"""Reload, upsert and history: tables whose published rows are replaced."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dwh_assets.engine.restate import reset_backward
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import Position
from tests.engine.project import BASE, Project, at, row, rows


def test_readers_of_a_reloaded_table_see_the_old_or_the_new_one(project: Project) -> None:
    project.source("src.full")
    project.append("src.full", rows(0, 6))
    project.module("full.sums", "src.full", "select k, sum(v) as v from {{ block }} group by k", processor="reload")
    project.apply()
    project.load("full.sums")
    old = project.engine.catalog.load("full.sums")
    assert project.rows("full.sums", "k, v") == [("k0", 3), ("k1", 5), ("k2", 7)]
    project.append("src.full", [row(10, 10, "k0", 100)])
    project.load("full.sums")
    assert project.rows("full.sums", "k, v") == [("k0", 103), ("k1", 5), ("k2", 7)]
    kept = old.scan(snapshot_id=old.metadata.current_snapshot_id).to_arrow()
    assert sorted(kept["v"].to_pylist()) == [3, 5, 7]


def test_an_upsert_keeps_the_newest_row_of_a_key_and_honours_deletes(project: Project) -> None:
    project.source("src.keys")
    project.append("src.keys", [row(1, 1, "a", 1), row(2, 2, "a", 2), row(2, 3, "a", 3), row(3, 4, "b", 4), row(4, 5, "c", 5)])
    project.module("up.keys", "src.keys", processor="upsert", key="[k]", deleted="v < 0", maxstep="4", stretch="1")
    project.apply()
    project.load("up.keys")
    assert project.rows("up.keys") == [(3, "a", 3), (4, "b", 4), (5, "c", 5)]
    project.append("src.keys", [row(5, 6, "b", -1), row(6, 7, "d", -1), row(7, 8, "c", 8)])
    project.load("up.keys")
    assert project.rows("up.keys") == [(3, "a", 3), (8, "c", 8)]
    last = project.engine.database.fetch("select * from dwh.execution order by id desc limit 1")[0]
    counts = [last[f"rows_{name}"] for name in ("read", "inserted", "updated", "deleted", "discarded")]
    assert counts == [3, 0, 1, 1, 1]


def test_streams_that_merge_keep_each_others_columns_and_an_older_row_never_wins(project: Project) -> None:
    project.source("src.names")
    project.source("src.prices", pa.schema([*[f for f in BASE if f.name != "v"], ("price", pa.int64())]))
    project.append("src.names", [row(1, 1, "a", 10), row(5, 2, "b", 20)])
    project.append("src.prices", [{"pos": at(3), "id": 3, "k": "a", "price": 7}, {"pos": at(4), "id": 4, "k": "b", "price": 8}])
    project.module("up.goods#names", "src.names", processor="upsert", key="[k]")
    project.module("up.goods#prices", "src.prices", "select pos, id, k, price from {{ block }}", processor="upsert", key="[k]")
    project.apply()
    project.load("up.goods#names")
    project.load("up.goods#prices")
    merged = [("a", 3, 10, 7), ("b", 2, 20, 8)]  # the price of b is older than its name, not than its price
    assert project.rows("up.goods", "k, id, v, price") == merged
    assert project.apply().empty
    with pytest.raises(ActRefused, match=r"up.goods is merged from up.goods#names, up.goods#prices"):
        project.restate("up.goods#prices", 1)
    assert project.rows("up.goods", "k, id, v, price") == merged


def test_a_history_ends_versions_and_a_rollback_reopens_what_it_had_closed(project: Project) -> None:
    project.source("src.past")
    project.append("src.past", [row(1, 1, "a", 1), row(2, 2, "b", 2), row(3, 3, "a", 3)])
    project.module("past.keys", "src.past", processor="history", key="[k]", maxstep="3", stretch="1")
    project.apply()
    project.load("past.keys")
    first = [("a", 1, at(1), at(3), False), ("a", 3, at(3), None, True), ("b", 2, at(2), None, True)]
    columns = "k, v, valid_from, valid_to, is_current"
    assert project.rows("past.keys", columns) == first
    project.append("src.past", [row(4, 4, "a", 4), row(5, 5, "c", 5), row(6, 6, "a", 6)])
    project.load("past.keys")
    assert project.rows("past.keys", columns) == [
        ("a", 1, at(1), at(3), False), ("a", 3, at(3), at(4), False), ("a", 4, at(4), at(6), False), ("a", 6, at(6), None, True),
        ("b", 2, at(2), None, True), ("c", 5, at(5), None, True),
    ]  # fmt: skip
    one, two = (block["id"] for block in project.blocks("past.keys"))
    assert project.rows("past.keys", "v, _block, _closed_by") == [
        (1, one, one), (2, one, None), (3, one, two), (4, two, two), (5, two, None), (6, two, None),
    ]  # fmt: skip
    whole = project.rows("past.keys", columns)
    assert project.restate("past.keys", 1).result == "committed"
    assert project.rows("past.keys", columns) == whole
    lineage = project.engine.lineage.active()
    back = reset_backward(project.engine, lineage, project.acts(), "past.keys", Position(at(3), 3), "a test")
    assert back.result == "committed"
    assert project.rows("past.keys", columns) == first
    assert project.cursor("past.keys") == Position(at(3), 3)
    project.load("past.keys")
    assert project.rows("past.keys", columns) == whole


def test_an_upsert_that_is_rolled_back_shows_the_state_of_the_blocks_that_stay(project: Project) -> None:
    project.source("src.undo")
    project.append("src.undo", [row(1, 1, "a", 1), row(2, 2, "b", 2), row(3, 3, "a", 3), row(4, 4, "c", 4)])
    project.module("up.undo", "src.undo", processor="upsert", key="[k]", maxstep="2", stretch="1")
    project.apply()
    project.load("up.undo")
    assert project.rows("up.undo") == [(2, "b", 2), (3, "a", 3), (4, "c", 4)]
    lineage = project.engine.lineage.active()
    back = reset_backward(project.engine, lineage, project.acts(), "up.undo", Position(at(2), 2), "a test")
    assert back.result == "committed", back.text
    assert project.rows("up.undo") == [(1, "a", 1), (2, "b", 2)]
