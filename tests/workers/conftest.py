"""Workers on a database of their own, and the bus they talk by: each kind in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from dwh_assets.sources.kafka.server import KafkaServer
from tests.workers.crew import Crew, crew_of
from tests.workers.lines import KafkaLine, Line, PostgresLine


@pytest.fixture(params=["postgres", pytest.param("kafka", marks=pytest.mark.exhaustive)])
def line(request: pytest.FixtureRequest, database: Database) -> Line:
    """By default Kafka is tried with its own suite (test_bus.py) and one crew; before an issue is resolved, with all."""
    if request.param == "postgres":
        return PostgresLine(database)
    kafka: KafkaServer = request.getfixturevalue("kafka")
    return KafkaLine(database, kafka.start())


@pytest.fixture
def crew(line: Line, database: Database, tmp_path: Path) -> Iterator[Crew]:
    with crew_of(database, line, tmp_path) as crew:
        yield crew
