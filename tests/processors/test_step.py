"""Step: transforms put together, before and after, own code, where blocks end; statistics that equal a scan."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from dwh_assets.engine.previewing import look_ahead
from dwh_assets.model.errors import LineageError
from dwh_assets.model.position import MAX_ID
from tests.engine.project import ALL, BASE, DAY, Project, at, row, rows


def test_rows_that_share_a_position_are_never_split_and_transforms_are_put_together_by_name(project: Project) -> None:
    project.source("src.ties")
    ties = [row(1, 1), row(2, 7, v=1), row(2, 7, v=2), row(2, 7, v=3), row(2, 8), row(3, 9)]
    project.append("src.ties", ties)
    low = "select pos, id, k, v, 'low' as part from {{ block }} where v < 3"
    high = "select 'high' as part, v, k, id, pos from {{ block }} where v >= 2"
    project.module("step.ties", "src.ties", [low, high], maxstep="2", stretch="1")
    project.apply()
    outcomes = project.load("step.ties")
    assert [o.result for o in outcomes] == ["committed"] * 2
    assert [b["base_rows"] for b in project.blocks("step.ties")] == [4, 2]
    assert project.rows("step.ties", "id, v, part") == [
        (1, 1, "low"), (7, 1, "low"), (7, 2, "high"), (7, 2, "low"), (7, 3, "high"), (8, 1, "low"), (9, 1, "low"),
    ]  # fmt: skip
    assert project.cursor("step.ties").pos == at(3)


def test_before_and_after_run_with_each_block(project: Project) -> None:
    project.source("src.acts")
    project.append("src.acts", rows(0, 3))
    project.module(
        "step.acts",
        "src.acts",
        "select b.pos, b.id, b.k, s.total as v from {{ block }} b cross join sums s",
        before='["create or replace temporary view sums as select sum(v) as total from {{ block }}"]',
        after='["create or replace temporary view seen as select count(*) as n from {{ block }}"]',
        maxstep="2",
        stretch="1",
    )
    project.apply()
    project.load("step.acts")
    assert project.rows("step.acts", "id, v") == [(0, 1), (1, 1), (2, 2)]


def test_a_declared_write_runs_with_each_block_and_never_for_those_who_only_look(project: Project) -> None:
    session = project.engine.session()
    session.sql("create namespace if not exists log")
    session.sql("create table log.seen (id bigint) using iceberg")
    project.source("src.writes")
    project.append("src.writes", rows(0, 3))
    write = (
        "merge into log.seen s using {{ block }} b on s.id = b.id and b.v % 2 = 1 "
        "when not matched and b.v % 2 = 1 then insert (id) values (b.id)"
    )
    project.module("step.writes", "src.writes", ALL, before=f"[{{sql: '{write}', idempotent: true}}]")
    project.apply()
    sight = look_ahead(project.engine, project.engine.lineage.active(), "step.writes", 5)
    assert (len(sight.output.rows), sight.notes) == (3, ("not planned yet", "declared writes left out: 1"))
    assert project.rows("log.seen", "id") == []
    project.load("step.writes")
    assert project.rows("log.seen", "id") == [(1,)]


def test_a_python_transform_gets_the_block_and_tables_by_name(project: Project) -> None:
    project.source("src.py")
    project.source("src.names")
    project.append("src.py", rows(0, 3))
    project.append("src.names", [row(0, 0, "k1", 100)])
    project.module("step.py", "src.py", transforms='["tests.processors.own:doubled"]', reads="[src.names]")
    project.apply()
    project.load("step.py")
    assert project.rows("step.py", "id, v") == [(0, 0), (1, 102), (2, 4)]


def test_a_processor_of_ones_own_shapes_the_rows(project: Project) -> None:
    project.source("src.own")
    project.append("src.own", rows(0, 5))
    project.module("step.own", "src.own", processor="tests.processors.own:OnlyEven")
    project.apply()
    project.load("step.own")
    assert project.rows("step.own", "id") == [(0,), (2,), (4,)]
    assert [(b["base_rows"], b["rows"]) for b in project.blocks("step.own")] == [(5, 3)]


def test_statistics_of_a_block_equal_a_scan_of_its_rows(project: Project) -> None:
    project.source("src.stats")
    some = [row(n, 2**63 + n, None if n % 3 == 0 else "x" * 40, None if n % 2 else n) for n in range(7)]
    project.append("src.stats", some[:4])
    project.append("src.stats", some[4:])
    project.module(
        "step.stats",
        "src.stats",
        measures="{total: sum(v), keys: count(k)}",
        expect="{small: v < 3}",
    )
    project.apply()
    project.load("step.stats")
    (block,) = project.blocks("step.stats")
    assert (block["base_rows"], block["rows"]) == (7, 7)
    assert block["nulls"] == {"k": 3, "v": 3}
    assert (block["max_id"], block["min_pos"], block["max_pos"]) == (2**63 + 6, at(0), at(6))
    assert block["measures"] == {"total": 12, "keys": 4}
    assert block["expects"] == {"small": 2}
    log = project.engine.database.fetch("select * from dwh.load_log where topic = 'step.stats'")
    assert [(line["rows"], line["attempt"], line["bytes"] > 0) for line in log] == [(7, 1, True)]


def test_a_restatement_of_many_blocks_keeps_measures_and_statistics_by_block(project: Project) -> None:
    project.source("src.again")
    project.append("src.again", [row(0, 0, None), row(1, 1), row(2, 2, v=None), row(3, 3, v=5)])
    project.module("step.again", "src.again", maxstep="2", stretch="1", measures="{total: sum(v)}", expect="{five: v = 5}")
    project.apply()
    project.load("step.again")
    names = ("rows", "base_rows", "hash_sum", "nulls", "max_id", "min_pos", "max_pos", "measures", "expects")
    before = [[b[name] for name in names] for b in project.blocks("step.again")]
    assert before[1][-2:] == [{"total": 5}, {"five": 1}]
    assert project.restate("step.again", 1).result == "committed"
    assert [[b[name] for name in names] for b in project.blocks("step.again")] == before


def test_ids_above_the_signed_range_are_positions_like_others(project: Project) -> None:
    project.source("src.big")
    ids = [2**63 - 1, 2**63, MAX_ID - 1, MAX_ID]
    project.append("src.big", [row(1, number) for number in ids])
    project.module("step.big", "src.big", maxstep="2", stretch="1")
    project.apply()
    project.load("step.big")
    assert [int(b["next_id"]) for b in project.blocks("step.big")] == [2**63, MAX_ID]
    assert project.rows("step.big", "id") == [(number,) for number in ids]


def test_a_block_of_one_day_step_never_spans_two_days_of_its_zone(project: Project) -> None:
    project.source("src.days")
    hours = [21, 22.9, 23, 23.5, 48]  # Berlin's midnight is 23:00 UTC in winter
    project.append("src.days", [row(hour * 3600, n) for n, hour in enumerate(hours)])
    project.module("step.days", "src.days", processor="one_day_step", timezone="Europe/Berlin", maxstep="100")
    project.apply()
    project.load("step.days")
    assert [b["base_rows"] for b in project.blocks("step.days")] == [2, 2, 1]


def test_a_range_covers_an_empty_stretch_with_one_block_and_never_goes_back(project: Project) -> None:
    project.source("src.spans")
    day = 86400
    project.append("src.spans", [row(30.5 * day, 1), row(30.7 * day, 2), row(31.2 * day, 3), row(40 * day, 4)])
    project.module("step.spans", "src.spans", processor="range", span="1d", start="2026-03-01T00:00:00Z", repeat="1h", ahead="20")
    project.apply()
    while project.load("step.spans"):
        project.engine.database.execute("update dwh.topic set last_end = null")
    found = [((b["next_pos"] - DAY).days, b["base_rows"]) for b in project.blocks("step.spans")]
    assert found == [(30, 0), (31, 2), (32, 1), (39, 0), (40, 1)]
    assert all(int(b["next_id"]) == MAX_ID for b in project.blocks("step.spans"))
    assert project.rows("step.spans", "id") == [(1,), (2,), (3,), (4,)]
    project.append("src.spans", [row(41 * day, 5), row(1 * day, 6)])
    project.engine.database.execute("update dwh.topic set last_end = null")
    project.load("step.spans")
    assert project.rows("step.spans", "id") == [(1,), (2,), (3,), (4,), (5,)]
    assert project.cursor("step.spans").pos == at(41 * day)


def test_a_transform_without_the_position_may_aggregate(project: Project) -> None:
    project.source("src.sums")
    project.append("src.sums", rows(0, 6))
    project.module("step.sums", "src.sums", "select k, sum(v) as v from {{ block }} group by k", maxstep="3", stretch="1")
    project.apply()
    project.load("step.sums")
    assert project.rows("step.sums", "k, v") == [("k0", 0), ("k0", 3), ("k1", 1), ("k1", 4), ("k2", 2), ("k2", 5)]


def test_a_base_without_the_position_columns_is_refused_as_a_whole(own_project: Project) -> None:
    own_project.source("src.bare", pa.schema([field for field in BASE if field.name != "id"]))
    own_project.module("step.bare", "src.bare", "select pos, k, v from {{ block }}")
    with pytest.raises(LineageError, match=r"table src.bare has no column id"):
        own_project.apply()
    assert own_project.engine.lineage.active().modules == ()


def test_rows_from_the_future_do_not_move_the_cursor(project: Project) -> None:
    project.source("src.future")
    project.append("src.future", [row(1, 1), {**row(2, 2), "pos": datetime(2999, 1, 1, tzinfo=UTC)}])
    project.module("step.future", "src.future")
    project.apply()
    project.load("step.future")
    assert project.cursor("step.future").pos == at(1)
    assert project.rows("step.future", "id") == [(1,)]
