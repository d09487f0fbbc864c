"""Rounds of chaos on a real warehouse; and with its protections switched off, they must go red."""

from __future__ import annotations

import pytest

from dwh_assets.chaos.run import run
from dwh_assets.chaos.scene import Scene
from dwh_assets.chaos.schedule import parse
from tests.chaos.conftest import SEED

# Both workers sleep on what they are about to publish until others have published; later ones do so once more.
SLEEPERS = "stop@0=0/commit.before*1~2 stop@0=1/commit.before*2~2 stop@3=0/commit.before*1~1.5 stop@3=1/commit.before*1~1"


def test_no_row_is_lost_or_doubled_whatever_the_seed_draws(scene: Scene) -> None:
    ran = run(scene, SEED, [1, 2])
    assert [result.findings for result in ran.rounds] == [[], []]
    assert ran.failed is None
    assert all(result.blocks > 5 for result in ran.rounds)


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
