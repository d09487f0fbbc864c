"""The sample warehouse of chaos on the servers of the run: they are shared, so that only workers and connections suffer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dwh_assets.chaos.ground import Ground
from dwh_assets.chaos.run import built_in, prepared
from dwh_assets.chaos.scene import Scene
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.warehouse.server import SparkServer

SEED = 8


@pytest.fixture(scope="module")
def scene(
    postgres_url: str, spark_server: SparkServer, kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    ground = Ground(tmp_path_factory.mktemp("chaos"), postgres_url, spark_server.start(), kafka.start())
    with prepared(built_in(ground, SEED, workers=2)) as scene:
        yield scene
