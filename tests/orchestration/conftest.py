"""A project with Dagster on top of it, on the shared servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance

from dwh_assets.orchestration.instance import prepare_home
from dwh_assets.orchestration.project import using
from dwh_assets.warehouse.server import SparkServer
from tests.engine.conftest import opened
from tests.engine.project import Project
from tests.orchestration.dag import Dag


@pytest.fixture(scope="module")
def dag(module_url: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dag]:
    """One that the tests of a module share; each uses tables of its own."""
    for project in opened(tmp_path_factory.mktemp("dag"), module_url, spark_server):
        yield from dagster_on(project, module_url)


@pytest.fixture
def own_dag(database_url: str, spark_server: SparkServer, tmp_path: Path) -> Iterator[Dag]:
    for project in opened(tmp_path, database_url, spark_server):
        yield from dagster_on(project, database_url)


def dagster_on(project: Project, url: str) -> Iterator[Dag]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DWH_POSTGRES_URL", url)
        patch.setenv("DAGSTER_EVENT_BATCH_SIZE", "1000")
        folder = prepare_home(project.engine.settings)
        with DagsterInstance.from_config(str(folder)) as instance, using(project.engine):
            yield Dag(project, instance)
