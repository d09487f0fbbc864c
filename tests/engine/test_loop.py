"""The loop: who comes first where there is one slot, and what does not stop it."""

from __future__ import annotations

import pytest

from dwh_assets.config.machine import free_port
from dwh_assets.control.database import Database
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.sweep import sweep
from dwh_assets.model.errors import ControlStoreDown
from tests.engine.project import Project, rows
from tests.engine.test_corruption import damaged


def test_a_topic_of_higher_priority_comes_first_and_the_others_after_it(own_project: Project) -> None:
    own_project.source("src.rows")
    own_project.append("src.rows", rows(0, 5))
    for name, priority in {"a": -1, "b": 0, "c": 3}.items():
        own_project.module(f"{name}.rows", "src.rows", priority=priority)
    own_project.apply()
    assert [outcome.topic for outcome in own_project.load()] == ["c.rows", "b.rows", "a.rows"]


def test_a_damaged_table_stalls_no_other_and_is_told_to_people_once(own_project: Project) -> None:
    project = own_project
    project.source("src.rows")
    project.append("src.rows", rows(0, 5))
    for name in ("a", "b"):
        project.module(f"{name}.rows", "src.rows", attempts="1")
    project.apply()
    metadata = project.engine.catalog.load("a.rows").metadata_location
    with damaged(metadata, -1):
        ended = {outcome.topic: outcome.result for outcome in project.load()}
        assert ended == {"a.rows": "parked", "b.rows": "committed"}
        for _ in range(2):
            sweep(project.engine, project.engine.lineage.active())
        found = project.engine.database.fetch("select times, text from dwh.errors where code = 'OBSERVE'")
    assert [row["times"] for row in found] == [1]
    assert found[0]["text"].startswith("table a.rows could not be looked at: a file of metadata is damaged")
    project.acts().retry("a.rows", "the file is restored")
    project.load()
    assert project.rows("a.rows") == project.rows("b.rows")


def test_a_transform_that_is_gone_hides_where_no_other_columns_come_from(own_project: Project) -> None:
    project = own_project
    project.source("src.rows")
    project.append("src.rows", rows(0, 5))
    for name in ("a", "b"):
        project.module(f"{name}.rows", "src.rows")
    project.apply()
    project.load()
    project.engine.database.execute("delete from dwh.column_lineage")
    (project.folder / "sql/transforms/t/a_rows_0.sql").unlink()
    sweep(project.engine, project.engine.lineage.active())
    assert project.engine.database.fetch("select module from dwh.column_lineage") == [{"module": "b.rows"}]


def test_a_loop_that_is_to_end_gives_up_a_control_store_that_stays_away(
    own_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = own_project.engine
    away = Database(f"postgresql://dwh:x@127.0.0.1:{free_port()}/dwh", deadline=0.1)
    monkeypatch.setattr(engine, "settings", engine.settings.model_copy(update={"deadline_seconds": 0.5}))
    monkeypatch.setattr(engine.lineage, "database", away)
    with pytest.raises(ControlStoreDown, match="gave no connection"):
        Loop(engine).run(until_dry=True)
    away.close()
