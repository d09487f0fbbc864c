"""The servers under the warehouse die in the middle of a step and come back: it resumes, and nobody has to do anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.failpoints import POINTS
from dwh_assets.warehouse.server import SparkServer
from tests.faults.nursery import Nursery
from tests.faults.world import FACT, Farm, Rows

DEFAULT = ("stage.before", "commit.before", "commit.cursor")


@pytest.fixture(scope="module")
def own_postgres(tmp_path_factory: pytest.TempPathFactory, run_folder: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(run_folder / "own")
    server.start()
    yield server
    server.stop(immediate=True)


@pytest.fixture(scope="module")
def own_farm(
    own_postgres: EmbeddedPostgres, spark_server: SparkServer, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> Farm:
    farm = Farm(own_postgres.url, tmp_path_factory.mktemp("own"), nursery, spark_server.start())
    farm.prepare()
    return farm


def points() -> list[object]:
    """Three points by default, all of them in the exhaustive run."""
    rest = [point for point in POINTS if point not in DEFAULT and not point.startswith("fail.")]
    return [*DEFAULT, *(pytest.param(point, marks=pytest.mark.exhaustive) for point in rest)]


@pytest.mark.parametrize("point", points())
def test_a_postgres_that_crashes_in_the_middle_of_a_step_costs_nothing_but_time(
    own_postgres: EmbeddedPostgres, own_farm: Farm, undisturbed: dict[str, Rows], point: str
) -> None:
    with own_farm.world() as world:
        worker = world.start_worker(failpoints=f"{point}=stop*1")
        worker.wait_until_stopped()
        own_postgres.stop(immediate=True)
        own_postgres.start()
        results = worker.finish()
        assert [result for result in results if result != "failed"] == ["committed", "committed"]
        assert world.rows() == undisturbed[FACT]
        world.assert_clean()


def test_a_postgres_that_is_away_for_a_while_is_waited_for(
    own_postgres: EmbeddedPostgres, own_farm: Farm, undisturbed: dict[str, Rows]
) -> None:
    with own_farm.world() as world:
        worker = world.start_worker(failpoints="check.after=stop*1")
        worker.wait_until_stopped()
        own_postgres.stop(immediate=True)
        worker.resume()
        assert worker.exit_code() is None
        own_postgres.start()
        assert worker.wait() == 0
        assert [result for result in worker.results if result != "failed"] == ["committed", "committed"]
        assert world.rows() == undisturbed[FACT]
        world.assert_clean()


def test_a_spark_server_killed_in_the_middle_of_a_step_is_started_again_and_the_block_repeated(
    farm: Farm, undisturbed: dict[str, Rows], tmp_path: Path
) -> None:
    own = Farm(farm.server_url, farm.folder, farm.nursery, None, (("DWH_HOME", str(tmp_path)), ("DWH_SPARK_MEMORY", "1g")))
    with own.world() as world:
        server = SparkServer(world.settings)
        try:
            worker = world.start_worker(failpoints="stage.before=stop*1")
            worker.wait_until_stopped()
            first = _pid(tmp_path)
            os.kill(first, signal.SIGKILL)
            psutil.wait_procs([psutil.Process(first)] if psutil.pid_exists(first) else [], timeout=20)
            assert worker.finish(240) == ["failed", "committed", "committed"]
            assert _pid(tmp_path) != first
            assert world.rows() == undisturbed[FACT]
            assert [attempt["execution_code"] for attempt in world.executions()] == ["Failed", "Succeeded", "Succeeded"]
            assert [(block["failures"], block["crashes"]) for block in world.blocks()] == [(0, 1), (0, 0)]
            world.assert_clean()
        finally:
            server.stop()


def _pid(home: Path) -> int:
    return int((home / "spark" / "pid").read_text().split()[0])
