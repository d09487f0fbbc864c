"""The demo, loaded once; each page gets a copy of its files and of its control store, and reads the same tables."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from psycopg import sql

from dwh_assets.config.machine import free_port
from dwh_assets.demo.feed import Feed
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project, environment
from tests.conftest import run_sql, with_database
from tests.docs.pages import ROOT

PARTS = ("lineage", "sql/transforms", "tests/transforms", "dwh.toml", "workspace.yaml")
SCALE, PAST = 0.2, timedelta(hours=2)
OPEN_FOR = timedelta(minutes=6)  # the shop's undeclared version of its events is sent after five minutes
SEVERAL_BLOCKS = ("maxstep: 1_000\nstretch: 4\n", "maxstep: 300\nstretch: 1\n")  # so few rows would be one block
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Demo:
    """Where the loaded demo lies: its database is copied, its tables are shared, as their files never change."""

    server: str
    database: str
    folder: Path
    shared: dict[str, str]

    def copy(self, folder: Path) -> Project:
        copy_files(folder)
        return self._project(folder, self.database, DWH_WAREHOUSE=str(self.folder / "warehouse"))

    def empty(self, folder: Path, template: str) -> Project:
        """A warehouse with nothing in it, on the same servers."""
        return self._project(folder, template)

    def _project(self, folder: Path, template: str, **more: str) -> Project:
        name = f"docs_{next(_numbers)}"
        run_sql(self.server, _of("create database {} template {}", name, template))
        own = {
            "DWH_POSTGRES_URL": with_database(self.server, name),
            "DWH_UI_PORT": str(free_port()),
            "DWH_METRICS_PORT": str(free_port()),
        }
        return Project(folder, environment(folder, **self.shared, **own, **more))

    def drop(self, project: Project) -> None:
        run_sql(self.server, _of("drop database {} with (force)", project.environment["DWH_POSTGRES_URL"].rpartition("/")[2]))


def copy_files(folder: Path) -> None:
    """The demo's project in a folder of its own."""
    for part in PARTS:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
    file = folder / "lineage/fact/sales_web.yaml"
    large, small = SEVERAL_BLOCKS
    assert large in file.read_text()
    file.write_text(file.read_text().replace(large, small))


@pytest.fixture(scope="module")
def demo(
    postgres_url: str, template: str, spark_server: SparkServer, kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    shared = {"DWH_SPARK_REMOTE": spark_server.start(), "DWH_KAFKA_BOOTSTRAP": kafka.start(), "PYTHONPATH": str(ROOT)}
    name = f"docs_{next(_numbers)}"
    run_sql(postgres_url, _of("create database {} template {}", name, template))
    url = with_database(postgres_url, name)
    copy_files(folder)
    first = Project(folder, environment(folder, **shared, DWH_POSTGRES_URL=url, DWH_WAREHOUSE=str(folder / "warehouse")))
    _feed(url, folder / "warehouse", shared["DWH_KAFKA_BOOTSTRAP"])
    first.ok("lineage", "apply", "--yes")
    loaded = first.dwh("run", "--until-dry")
    assert loaded.code == 2, loaded.out + loaded.err  # the refund file that lost its order numbers
    run_sql(postgres_url, _of("alter database {} allow_connections false", name))
    run_sql(postgres_url, f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    yield Demo(postgres_url, name, folder, shared)
    run_sql(postgres_url, _of("drop database {} with (force)", name))


@pytest.fixture
def copied(demo: Demo, template: str, tmp_path: Path) -> Iterator[Callable[..., Project]]:
    """Makes projects, each with a control store of its own: copies of the demo, or empty ones."""
    made: list[Project] = []

    def make(folder: Path = tmp_path / "project", empty: bool = False) -> Project:
        folder.mkdir(exist_ok=True)
        made.append(demo.empty(folder, template) if empty else demo.copy(folder))
        return made[-1]

    yield make
    for project in made:
        demo.drop(project)


def _feed(url: str, warehouse: Path, brokers: str) -> None:
    """Some hours of past, and minutes in which the shop was open, in steps after which it would not count as closed."""
    catalog = Catalog(url, str(warehouse))
    now = datetime.now(UTC)
    feed = Feed(catalog, url, scale=SCALE, past=PAST, brokers=brokers)
    feed.prepare(now - OPEN_FOR)
    feed.backlog()
    for minutes in (2, 4, 6):
        feed.feed_once(feed.generator.opening + timedelta(minutes=minutes))
    catalog.close()


def _of(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))  # type: ignore[arg-type]
