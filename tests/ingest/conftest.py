"""A topic on the real broker, and a project that takes it in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.warehouse.server import SparkServer
from tests.engine.conftest import opened
from tests.engine.project import Project
from tests.ingest.stream import Stream


@pytest.fixture
def project(database_url: str, spark_server: SparkServer, tmp_path: Path) -> Iterator[Project]:
    yield from opened(tmp_path, database_url, spark_server)


@pytest.fixture
def stream(kafka: KafkaServer, project: Project) -> Stream:
    return Stream(kafka.start(), project)
