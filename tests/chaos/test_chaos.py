"""Rounds of chaos on a real warehouse, and their closing: nothing that was found in the meantime is left out when the tables are
compared. With its protections switched off, a round must go red.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dwh_assets.chaos import round as rounds
from dwh_assets.chaos import scene as closing
from dwh_assets.chaos.content import contents, differences
from dwh_assets.chaos.run import run
from dwh_assets.chaos.scene import Scene, opened, settle
from dwh_assets.chaos.schedule import parse
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from tests.chaos.conftest import SEED

LATER = "crm.customers+more"
# Both workers sleep on what they are about to publish until others have published; later ones do so once more.
SLEEPERS = "stop@0=0/commit.before*1~2 stop@0=1/commit.before*2~2 stop@3=0/commit.before*1~1.5 stop@3=1/commit.before*1~1"


def test_no_row_is_lost_or_doubled_whatever_the_seed_draws(scene: Scene) -> None:
    ran = run(scene, SEED, [1, 2])
    assert [result.findings for result in ran.rounds] == [[], []]
    assert ran.failed is None
    assert all(result.blocks > 5 for result in ran.rounds)


@pytest.mark.exhaustive
def test_without_its_protections_a_warehouse_fails_and_the_schedule_is_shrunk(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWH_UNPROTECTED", "token,position,pointer")
    ran = run(scene, SEED, range(1, 11), tries=1, fixed=parse(SLEEPERS))  # until one fails: who meets whom is the race of a round
    assert ran.failed is not None
    assert ran.shortest is not None
    assert len(ran.shortest) <= len(ran.failed.schedule)


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_no_row_is_lost_or_doubled_in_many_rounds(scene: Scene) -> None:
    ran = run(scene, SEED, range(1, 31))
    assert [(result.number, result.findings) for result in ran.rounds if result.findings] == []


@pytest.fixture
def engine(scene: Scene) -> Iterator[Engine]:
    """All rows are there but the newest customers."""
    with scene.ground.clone("closing") as url, opened(scene.ground, url) as engine:
        scene.feed_all(engine, [LATER])
        yield engine


@pytest.mark.exhaustive
def test_rows_that_came_behind_a_block_that_a_dead_worker_left_are_loaded(scene: Scene, engine: Engine) -> None:
    Loop(engine).tick()  # plans the first block of the customers, and nobody loads it
    scene.feed(engine, LATER)
    assert settle(engine) == []
    assert differences(scene.expected, contents(engine, scene.lineage)) == []


@pytest.mark.exhaustive
def test_rows_that_are_found_only_when_the_loop_has_ended_are_loaded(
    scene: Scene, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dry = closing._run_dry

    def and_then_rows_come(engine: Engine) -> bool:
        ended = run_dry(engine)
        scene.feed(engine, LATER)
        return ended

    monkeypatch.setattr(closing, "_run_dry", and_then_rows_come)
    assert settle(engine) == []
    assert differences(scene.expected, contents(engine, scene.lineage)) == []


@pytest.mark.exhaustive
def test_what_is_built_upon_late_rows_is_run_again_once_from_the_sources_on(scene: Scene) -> None:
    late = ["crm.customers+late", "stage.orders+late"]
    with scene.ground.clone("late") as url, opened(scene.ground, url) as engine:
        scene.feed_all(engine, late)
        assert settle(engine) == []
        scene.feed_all(engine)
        assert settle(engine) == []
        assert differences(scene.expected, contents(engine, scene.lineage)) == []
        asked = engine.database.fetch("select topic_id, count(*) as times from dwh.restatement group by topic_id")
    assert len(asked) > 3
    assert {row["times"] for row in asked} == {1}


def test_whatever_ends_the_loop_is_a_finding_and_not_the_end_of_the_run(
    scene: Scene, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "_run_dry", lambda engine: 1 / 0)
    assert rounds._look(scene, engine) == ["I7: the loop ended with ZeroDivisionError: division by zero"]
