"""The failpoints themselves: each one is passed and tested, and a wrong name is never taken in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dwh_assets
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.failpoints import BATCH_POINTS, POINTS, FailpointError, failpoint, protected
from tests.faults import test_batches, test_kill, test_pause


def parameters(test: object) -> set[str]:
    (mark,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]
    return {value for value in mark.args[1] if isinstance(value, str)}


def test_every_failpoint_of_the_product_is_known_and_every_known_one_is_in_the_product() -> None:
    sources = Path(dwh_assets.__file__).parent.rglob("*.py")
    passed = {name for file in sources for name in re.findall(r'\bfailpoint\("([a-z_.]+)"\)', file.read_text())}
    assert passed == {*POINTS, *BATCH_POINTS}


def test_a_worker_is_killed_and_paused_at_every_failpoint() -> None:
    killed = test_kill.test_a_worker_killed_at_any_point_leaves_a_block_that_the_next_one_repeats
    paused = test_pause.test_a_worker_paused_past_its_lease_publishes_nothing_when_it_wakes
    assert parameters(killed) == set(POINTS)
    assert parameters(paused) == set(POINTS)
    killed_batch = test_batches.test_a_batch_killed_at_any_point_is_made_good_by_the_next_run
    assert parameters(killed_batch) >= set(BATCH_POINTS)


@pytest.mark.parametrize("armed", ["stage.nowhere=kill", "stage.after=explode", "stage.after", "stage.after=sleep:long"])
def test_an_unknown_failpoint_or_action_is_an_error(monkeypatch: pytest.MonkeyPatch, armed: str) -> None:
    monkeypatch.setenv("DWH_FAILPOINTS", armed)
    with pytest.raises(ConfigError):
        failpoint("stage.after")


def test_an_unknown_protection_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DWH_UNPROTECTED", "tokens")
    with pytest.raises(ConfigError, match="unknown protection tokens; known are stored_range, token"):
        protected("token")


def test_a_failpoint_fires_at_the_passage_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dwh_assets.model.failpoints._passages", __import__("collections").Counter())
    monkeypatch.setenv("DWH_FAILPOINTS", "stage.after=raise*2")
    failpoint("stage.after")
    with pytest.raises(FailpointError, match=r"failpoint stage\.after"):
        failpoint("stage.after")
    failpoint("stage.after")
