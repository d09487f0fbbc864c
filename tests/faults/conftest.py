"""One prepared warehouse for all fault tests, on the Postgres and the Spark server of the run; each test gets a clone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dwh_assets.warehouse.server import SparkServer
from tests.faults.nursery import Nursery
from tests.faults.world import DIMENSION, EVENTS_A, EVENTS_B, FACT, MART, Farm, World


@pytest.fixture(scope="session")
def farm(postgres_url: str, spark_server: SparkServer, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Farm:
    farm = Farm(postgres_url, tmp_path_factory.mktemp("faults"), nursery, spark_server.start())
    farm.prepare()
    return farm


@pytest.fixture
def world(farm: Farm) -> Iterator[World]:
    with farm.world() as world:
        yield world


@pytest.fixture(scope="session")
def undisturbed(farm: Farm) -> dict[str, list[tuple[Any, ...]]]:
    """What readers see after a run that nothing disturbs: the same source rows, every topic, one worker."""
    with farm.world() as world:
        world.run_to_the_end(DIMENSION, FACT, MART, EVENTS_A, EVENTS_B)
        world.assert_clean()
        return world.fingerprint()


@pytest.fixture
def barrier(tmp_path: Path) -> Path:
    """A file that lets waiting workers go, once it exists."""
    return tmp_path / "go"
