"""Control store and warehouse folder of different moments: what disagrees is said, and brought together without loss."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.control.backups import back_up, read_backup, restore
from dwh_assets.control.database import Database
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.maintenance import expire_snapshots, remove_orphans
from dwh_assets.engine.reconcile import plan_reconciliation, reconcile
from dwh_assets.warehouse.server import SparkServer
from tests.conftest import run_sql
from tests.engine.project import Project, rows, settings_of

FACT, MART, LATEST, ALL = "f.rows", "m.rows", "d.latest", "r.all"
ENDED = """select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()"""  # as with Spark itself, which the tests share
TABLES = (FACT, MART, LATEST, ALL)


@pytest.fixture
def warehouse(database_url: str, spark_server: SparkServer, tmp_path: Path) -> Iterator[Project]:
    """A chain of appends, an upsert and a reload on one source, loaded with ten rows. The source lies outside the folder."""
    engine = Engine(settings_of(tmp_path, database_url, spark_server.start()), database_url)
    (tmp_path / "lineage" / "sources").mkdir(parents=True)
    project = Project(tmp_path, engine)
    project.source("src.rows")
    project.append("src.rows", rows(0, 10))
    project.module(FACT, "src.rows", maxstep="3", stretch="1")
    project.module(MART, FACT, maxstep="4", stretch="1")
    project.module(LATEST, "src.rows", processor="upsert", key="[k]", maxstep="5", stretch="1")
    project.module(ALL, "src.rows", processor="reload")
    project.apply()
    project.load()
    yield project
    project.engine.close()


def reopened(project: Project) -> None:
    """As the next process would: the connections of the last one are gone."""
    settings, url = project.engine.settings, project.engine.postgres_url
    project.engine.close()
    project.engine = Engine(settings, url)


def restored(project: Project, folder: Path) -> None:
    project.engine.close()
    run_sql(project.engine.postgres_url, ENDED)
    store = Database(project.engine.postgres_url, deadline=20, size=1)
    restore(store, folder, read_backup(folder), "tester", "a test")
    store.close()
    project.engine = Engine(project.engine.settings, project.engine.postgres_url)


def reconciled(project: Project) -> list[str]:
    """What was done, and nothing is left to do."""
    lineage = project.engine.lineage.active()
    plan = plan_reconciliation(project.engine, lineage)
    reconcile(project.engine, lineage, plan, "tester", "a test")
    assert plan_reconciliation(project.engine, lineage).empty
    return [f"{line['what']} {line['act']}" for line in plan.lines()]


def content(project: Project) -> dict[str, list[tuple[object, ...]]]:
    return {table: project.rows(table) for table in TABLES}


def rebuilt(project: Project) -> dict[str, list[tuple[object, ...]]]:
    """Load on; what is stale is stale because it was built upon rows that were made anew."""
    project.load()
    project.engine.database.execute("update dwh.topic set last_end = null")
    project.load()
    return content(project)


def test_a_control_store_that_is_older_than_the_folder_goes_on_from_there(warehouse: Project, tmp_path: Path) -> None:
    assert warehouse.verify() == []
    assert plan_reconciliation(warehouse.engine, warehouse.engine.lineage.active()).empty
    back_up(warehouse.engine.database, tmp_path / "kept")
    warehouse.append("src.rows", rows(10, 14))
    warehouse.append("src.rows", rows(14, 20))
    warehouse.load()
    undisturbed = content(warehouse)
    restored(warehouse, tmp_path / "kept")
    assert ["2 newer states" in finding.text for finding in warehouse.verify()] == [True]  # of the source
    assert [line.split()[0] for line in reconciled(warehouse)] == ["src.rows"]
    assert rebuilt(warehouse) == undisturbed
    assert warehouse.verify() == []


@pytest.mark.exhaustive
def test_a_control_store_whose_states_are_gone_reads_newer_files_without_the_blocks_that_it_does_not_know(
    warehouse: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(warehouse.engine.database, tmp_path / "kept")
    warehouse.append("src.rows", rows(10, 20))
    warehouse.load()
    undisturbed = content(warehouse)
    old = {"snapshots_for": (moment := warehouse.engine.settings.snapshots_for / 10**12), "orphans_after": moment}
    monkeypatch.setattr(warehouse.engine, "settings", warehouse.engine.settings.model_copy(update=old))
    lineage = warehouse.engine.lineage.active()
    warehouse.engine.session().sql("update dwh.f.rows set k = k")  # all in other files
    for task in (expire_snapshots, remove_orphans):
        task(warehouse.engine, lineage, FACT, lambda what, done, total: None)
    for file in (Path(warehouse.engine.settings.warehouse_root) / "f" / "rows" / "metadata").glob("*.metadata.json"):
        if str(file) not in warehouse.engine.catalog.load(FACT).metadata_location:
            file.unlink()
    restored(warehouse, tmp_path / "kept")
    assert any("is missing" in finding.text for finding in warehouse.verify() if finding.topic == FACT)
    assert any("does not know" in line for line in reconciled(warehouse) if line.startswith(FACT))
    assert rebuilt(warehouse) == undisturbed
    assert warehouse.verify() == []


def test_a_folder_that_is_older_than_the_control_store_takes_back_what_it_lacks(warehouse: Project, tmp_path: Path) -> None:
    folder, copy = Path(warehouse.engine.settings.warehouse_root), tmp_path / "copy"
    warehouse.append("src.rows", rows(10, 20))
    shutil.copytree(folder, copy)
    warehouse.load()
    assert warehouse.restate(FACT, 2, 2).result == "committed"
    undisturbed = content(warehouse)
    source = folder / "src"
    shutil.copytree(source, copy / "src", dirs_exist_ok=True)  # what feeds the warehouse was not lost
    shutil.rmtree(folder)
    copy.rename(folder)
    reopened(warehouse)
    found = warehouse.verify()
    assert {finding.topic for finding in found} >= {FACT, MART, ALL}
    assert all("dwh repair --reconcile" in finding.text for finding in found if "is missing" in finding.text)
    said = reconciled(warehouse)
    assert f"{FACT} blocks 2 to 8 are taken back and loaded again" in said
    assert warehouse.cursor(FACT).id == 2
    assert rebuilt(warehouse) == undisturbed
    assert [finding for finding in warehouse.verify() if finding.severity == "error"] == []
