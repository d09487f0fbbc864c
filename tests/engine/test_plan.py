"""Plans and horizons: how many blocks, how large, how far; and what a source can do to them."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from dwh_assets.engine.observe import observe
from dwh_assets.engine.plan import plan
from tests.engine.project import BASE, Project, at, row, rows


def tick(project: Project, topic: str) -> int:
    """Observe and plan once, without loading."""
    lineage = project.engine.lineage.active()
    observe(project.engine, lineage)
    return plan(project.engine, lineage, project.engine.topics.verdicts([topic]))


def test_a_topic_that_is_behind_plans_ahead_in_larger_blocks_once_its_speed_is_known(project: Project) -> None:
    project.source("src.behind")
    project.append("src.behind", rows(0, 150))
    project.module("behind.rows", "src.behind", maxstep="4", stretch="5", ahead="4")
    project.apply()
    assert tick(project, "behind.rows") == 1
    assert [b["planned_rows"] for b in project.blocks("behind.rows")] == [16]
    project.engine.database.execute("update dwh.topic set rows_per_second = 1000 where name = 'behind.rows'")
    project.engine.database.execute("delete from dwh.block where status = 'planned'")
    project.engine.database.execute("update dwh.topic set examined = null where name = 'behind.rows'")
    assert tick(project, "behind.rows") == 4
    assert [b["planned_rows"] for b in project.blocks("behind.rows")] == [20] * 4
    assert tick(project, "behind.rows") == 0
    project.load("behind.rows")
    assert project.rows("behind.rows", "id") == [(n,) for n in range(150)]
    assert project.blocks("behind.rows")[-1]["takes_all"]


def test_a_source_without_rows_is_unknown_and_loads_when_its_first_rows_come(project: Project) -> None:
    project.source("src.empty")
    project.module("empty.rows", "src.empty")
    project.apply()
    assert project.load("empty.rows") == []
    assert project.status("empty.rows")["why"] == "nothing is known yet of src.empty"
    project.append("src.empty", [row(1, 1)])
    assert [o.result for o in project.load("empty.rows")] == ["committed"]


def test_a_row_without_a_position_stops_its_source_with_the_reason_and_no_other(project: Project) -> None:
    project.source("src.nulls")
    project.source("src.fine")
    project.append("src.nulls", [row(1, 1), {**row(2, 2), "pos": None}])
    project.append("src.fine", [row(1, 1)])
    project.module("nulls.rows", "src.nulls")
    project.module("fine.rows", "src.fine")
    project.apply()
    assert [(o.topic, o.result) for o in project.load("nulls.rows", "fine.rows")] == [("fine.rows", "committed")]
    (source,) = project.engine.database.fetch("select problem from dwh.source where name = 'src.nulls'")
    assert "NULL" in source["problem"]
    events = project.engine.database.fetch("select text from dwh.event_log where code = 'OBSERVE' and text like '%src.nulls%'")
    assert len(events) == 1


def test_a_quiet_dimension_does_not_stall_its_facts(own_project: Project) -> None:
    project = own_project
    project.source("src.dim", extra="idle_after: 1s\n")
    project.source("src.fact")
    project.append("src.dim", [row(0, 0, "k0", 5)])
    project.append("src.fact", rows(0, 3))
    project.module("q.dim", "src.dim")
    project.module("q.fact", "src.fact", depends_on="[src.fact, q.dim]")
    project.apply()
    observe(project.engine, project.engine.lineage.active())
    assert project.load("q.fact") == []
    aged = "update dwh.source set changed_at = changed_at - interval '1 hour' where name = 'src.dim'"
    project.engine.database.execute(aged)
    project.load()
    assert project.rows("q.fact", "id") == [(0,), (1,), (2,)]
    assert project.topic("q.dim")["watermark"] > at(0) + timedelta(days=1)


def test_tags_and_shards_have_their_own_cursors_into_one_table(project: Project) -> None:
    for name in ("src.web", "src.shop"):
        project.source(name, extra="shards: [k1, k2]\nshard_by: k\n")
    project.append("src.web", rows(0, 4))
    project.append("src.shop", [row(10, 50, "k1", 0), row(11, 51, "k2", 0)])
    for tag in ("web", "shop"):
        project.module(f"tag.sales#{tag}", f"src.{tag}", shards="[k1, k2]", shard_by="k")
    project.module("tag.sums", "tag.sales", shards="[k1, k2]", shard_by="k")
    project.apply()
    topics = [f"{name}:{shard}" for name in ("tag.sales#web", "tag.sales#shop", "tag.sums") for shard in ("k1", "k2")]
    project.load(*topics)
    assert project.rows("tag.sales", "id, k") == [(1, "k1"), (2, "k2"), (50, "k1"), (51, "k2")]
    assert project.rows("tag.sums", "id, k") == [(1, "k1"), (2, "k2")]
    assert project.cursor("tag.sales#web:k1").id == 1
    assert project.cursor("tag.sales#shop:k2").id == 51
    assert project.status("tag.sums:k1")["upto"] == at(3)


def test_a_column_that_vanishes_from_the_base_is_an_error_of_its_block_not_of_others(own_project: Project) -> None:
    project = own_project
    project.source("src.lost", pa.schema([*BASE, ("w", pa.int64())]))
    project.append("src.lost", [{**row(1, 1), "w": 1}])
    project.module("lost.rows", "src.lost", "select pos, id, w from {{ block }}", attempts="1")
    project.apply()
    with project.engine.catalog.load("src.lost").update_schema() as update:
        update.delete_column("w")
    project.append("src.lost", [row(2, 2)])  # until now the newest snapshot still had the column
    (outcome,) = project.load("lost.rows")
    assert (outcome.result, project.rows("lost.rows", "id")) == ("parked", [])
    assert "w" in outcome.text
    assert len(outcome.text.splitlines()) == 1


def test_rows_wait_out_the_delay(project: Project) -> None:
    project.source("src.wait")
    now = project.engine.database.fetch("select now() as now")[0]["now"]
    project.append("src.wait", [{**row(0, 1), "pos": now - timedelta(hours=2)}, {**row(0, 2), "pos": now - timedelta(minutes=1)}])
    project.module("wait.rows", "src.wait", delay="1h")
    project.apply()
    project.load("wait.rows")
    assert project.rows("wait.rows", "id") == [(1,)]
