"""Projects on the shared servers: one of its own for a test, or one for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.engine.engine import Engine
from dwh_assets.warehouse.server import SparkServer
from tests.engine.project import Project, settings_of


@pytest.fixture(scope="module")
def project(module_url: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project that the tests of a module share; each uses tables of its own."""
    yield from opened(tmp_path_factory.mktemp("project"), module_url, spark_server)


@pytest.fixture
def own_project(database_url: str, spark_server: SparkServer, tmp_path: Path) -> Iterator[Project]:
    """A project for a test that looks at the whole warehouse."""
    yield from opened(tmp_path, database_url, spark_server)


def opened(folder: Path, database_url: str, spark_server: SparkServer) -> Iterator[Project]:
    engine = Engine(settings_of(folder, database_url, spark_server.start()), database_url)
    (folder / "lineage" / "sources").mkdir(parents=True)
    yield Project(folder, engine)
    engine.close()
    engine.catalog.close()
