"""The commit happened and its reply was lost: for psycopg, which publishes, and for Spark's catalog, which stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dwh_assets.chaos.proxy import Proxy, proxied
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from tests.faults.world import FACT, Rows, World

PUBLISHING = b"update iceberg.iceberg_tables"  # our commit; Spark's and pyiceberg's say UPDATE
STAGING = b"UPDATE iceberg_tables"


@contextmanager
def engine_behind(world: World, proxy: Proxy) -> Iterator[Engine]:
    engine = Engine(world.settings, proxy.url)
    yield engine
    engine.close()
    engine.catalog.close()


def load(engine: Engine) -> list[Outcome]:
    outcomes: list[Outcome] = []
    Loop(engine, topics=frozenset({FACT}), report=outcomes.append).run(until_dry=True)
    return outcomes


def test_a_commit_whose_reply_is_lost_succeeds_exactly_once(world: World, undisturbed: dict[str, Rows]) -> None:
    with proxied(world.url) as proxy, engine_behind(world, proxy) as engine:
        proxy.cut(PUBLISHING, b"COMMIT")
        outcomes = load(engine)
        assert proxy.cuts == 1
    assert [outcome.result for outcome in outcomes] == ["committed", "committed"]
    assert [attempt["execution_code"] for attempt in world.executions()] == ["Succeeded", "Succeeded"]
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()


@pytest.mark.tooth("R8", "reread")
def test_without_reading_its_own_row_again_a_worker_takes_a_success_for_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Teeth of `reread`: the block is committed, but its worker says something else."""
    monkeypatch.setenv("DWH_UNPROTECTED", "reread")
    with proxied(world.url) as proxy, engine_behind(world, proxy) as engine:
        proxy.cut(PUBLISHING, b"COMMIT")
        outcomes = load(engine)
    assert [outcome.result for outcome in outcomes] == ["lost", "committed"]
    assert [attempt["execution_code"] for attempt in world.executions()] == ["Succeeded", "Succeeded"]


def test_a_commit_that_never_arrived_is_repeated(world: World, undisturbed: dict[str, Rows]) -> None:
    """The connection is cut at the statement before: nothing was committed, and the worker learns just that."""
    with proxied(world.url) as proxy, engine_behind(world, proxy) as engine:
        proxy.cut(PUBLISHING, PUBLISHING)
        outcomes = load(engine)
        assert proxy.cuts == 1
    assert [outcome.result for outcome in outcomes] == ["failed", "committed", "committed"]
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()


def test_a_lost_reply_to_sparks_commit_of_the_staged_rows_is_harmless(world: World, undisturbed: dict[str, Rows]) -> None:
    with proxied(world.url) as proxy:
        engine = Engine(world.settings, world.url)
        assert engine.catalog is not None  # pyiceberg and psycopg ask Postgres itself, only Spark goes through the proxy
        engine.postgres_url = proxy.url
        proxy.cut(STAGING, STAGING)
        outcomes = load(engine)
        engine.close()
        assert proxy.cuts == 1
    assert [outcome.result for outcome in outcomes if outcome.result != "failed"] == ["committed", "committed"]
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()
