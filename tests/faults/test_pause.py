"""A worker paused past its lease: another one finishes its block, and when it wakes it publishes nothing."""

from __future__ import annotations

import pytest

from dwh_assets.model.failpoints import POINTS
from tests.faults.test_kill import armed
from tests.faults.world import DIMENSION, FACT, Rows, World

# How a worker paused there ends; anywhere else its lease is lost. Before its claim it finds nothing left to do, or, where its
# transaction was ended, tries in vain; behind its commit or its failure it has nothing to lose.
ENDS = {
    "plan.before": [], "plan.inside": [], "plan.after": [], "claim.before": ["idle"], "claim.inside": ["failed"],
    "commit.after": ["committed"], "fail.after": ["failed"],
}  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_paused_past_its_lease_publishes_nothing_when_it_wakes(
    world: World, undisturbed: dict[str, Rows], point: str
) -> None:
    sleeper = world.start_worker(failpoints=armed(point, "stop"))
    sleeper.wait_until_stopped()
    world.expire_leases()
    world.run_to_the_end()
    seen = world.rows()
    assert seen == undisturbed[FACT]
    assert sleeper.finish() == ENDS.get(point, ["lost"])
    assert world.rows() == seen
    world.assert_clean()
    published = [a for a in world.executions() if a["worker"] == sleeper.name and a["execution_code"] == "Succeeded"]
    assert len(published) == (1 if point == "commit.after" else 0)


def test_a_worker_paused_past_its_lease_says_that_its_lease_was_lost(world: World) -> None:
    sleeper = world.start_worker(failpoints="stage.after=stop")
    sleeper.wait_until_stopped()
    world.expire_leases()
    world.run_to_the_end()
    sleeper.finish()
    (text,) = [line["text"] for line in sleeper.lines() if "text" in line]
    assert "token 1 was superseded while this worker was paused or slow" in text
    assert "DWH_LEASE_SECONDS" in text


@pytest.mark.parametrize("point", ["claim.inside", "commit.cursor"])
def test_a_worker_paused_inside_a_transaction_loses_it_with_its_lease(world: World, point: str) -> None:
    """Nobody ends the transaction by hand here: the limit that comes with the lease does, and frees the topic's row."""
    sleeper = world.start_worker(failpoints=f"{point}=stop", lease_seconds=1)
    sleeper.wait_until_stopped()
    results = world.start_worker(lease_seconds=600)
    assert results.wait() == 0
    world.run_until_loaded()
    sleeper.finish()
    world.assert_clean()


def test_a_paused_merge_gives_its_table_back_with_its_topic(world: World, undisturbed: dict[str, Rows]) -> None:
    world.feed_customers()
    sleeper = world.start_worker(DIMENSION, failpoints="commit.before=stop")
    sleeper.wait_until_stopped()
    world.expire_leases(tables=False)
    world.run_to_the_end(DIMENSION)
    assert sleeper.finish() == ["lost"]
    assert {row[-1] for row in world.rows(DIMENSION)} == {"gold"}
    world.assert_clean()


@pytest.mark.exhaustive
@pytest.mark.parametrize("point", [point for point in POINTS if not point.startswith("plan.")])
def test_a_worker_paused_at_its_second_block_publishes_nothing_when_it_wakes(
    world: World, undisturbed: dict[str, Rows], point: str
) -> None:
    armed_ = f"stage.after=raise*2,{point}=stop" if point.startswith("fail.") else f"{point}=stop*2"
    sleeper = world.start_worker(failpoints=armed_)
    sleeper.wait_until_stopped()
    world.expire_leases()
    world.run_to_the_end()
    sleeper.finish()
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()
