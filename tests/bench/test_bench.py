"""Every measurement runs, with very few rows. What it finds is for bench/README.md: no time is asserted here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.main import MEASUREMENTS, main, measurements_of
from bench.result import as_table
from bench.scale import Scale
from bench.stopwatch import nearest_rank
from bench.workers import shared_results
from bench.world import World
from dwh_assets.config.settings import load_settings
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ConfigError
from dwh_assets.warehouse.server import SparkServer

TINY = Scale(
    rows=600, streamed=600, batch=300, maxstep=100, customers=10, blocks=3, block_rows=50,
    modules=20, shards=10, claim_set=5, ledger=300, logged=500, load_ticks=10,
    history=400, repeats=2, defined=5, restated=3, together=2, ticks=1,
    events=200, window_block=50, windows=(100, 300), latencies=2,
    dispatches=2, crew_topics=3, crew_blocks=40, crew_seconds=8, crew_marks=(1, 3),
)  # fmt: skip


@pytest.fixture
def world(spark_server: SparkServer, run_folder: Path, database_url: str, tmp_path: Path) -> Iterator[World]:
    own = {"postgres_url": database_url, "warehouse": str(tmp_path / "warehouse"), "project": tmp_path}
    engine = Engine(load_settings(home=run_folder, spark_master="local[2]", spark_memory="2g", **own), database_url)
    yield World(engine, TINY)
    engine.close()


SLOW = {"restatement", "tick", "ingest", "overhead", "streaming", "workers"}  # what they call is called by others, too
NAMES = [pytest.param(name, marks=pytest.mark.exhaustive if name in SLOW else ()) for name in MEASUREMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_runs_and_gives_its_figures_with_their_parts(world: World, name: str) -> None:
    found = MEASUREMENTS[name](world)
    assert found
    assert all(result.value == result.value and result.parts for result in found)
    assert as_table(found).row_count == len(found)


def test_an_unknown_measurement_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no measurement speed; there are .*drain"):
        main(["speed"])


def test_the_workers_are_measured_in_one_run_with_a_tick_on_stock_dagster() -> None:
    assert measurements_of(["workers"]) == {"workers", "tick"}
    assert measurements_of(["window"]) == {"ingest"}
    assert measurements_of([]) == set(MEASUREMENTS)


def test_a_percentile_is_one_of_what_was_seen() -> None:
    taken = [float(number) for number in range(1, 201)]
    assert [nearest_rank(taken, percent) for percent in (50, 99, 100)] == [100, 198, 200]
    assert nearest_rank([7.0], 99) == 7


def test_a_starved_topic_and_an_aborted_request_miss_what_is_to_be_reached() -> None:
    rows = [{"name": "crew.a", "blocks": 3}, {"name": "crew.b", "blocks": 0}]
    assert [result.reached for result in shared_results(rows, 1.0, failed=0, refused=1)] == [False, False]
    assert [result.reached for result in shared_results(rows[:1], 1.0, failed=0, refused=0)] == [True, True]
