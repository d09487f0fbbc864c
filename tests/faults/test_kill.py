"""kill -9 at every named point: the next worker repeats the same block, and nobody can tell that it happened."""

from __future__ import annotations

import pytest

from dwh_assets.model.failpoints import POINTS
from tests.faults.world import DIMENSION, EVENTS_A, EVENTS_B, FACT, MART, Rows, World

BEFORE_THE_CLAIM = ("plan.before", "plan.inside", "plan.after", "claim.before", "claim.inside")


def armed(point: str, action: str) -> str:
    """A failure is only written down after something failed."""
    return f"stage.after=raise,{point}={action}" if point.startswith("fail.") else f"{point}={action}"


def assert_repeats(world: World, undisturbed: dict[str, Rows], failpoints: str, topic: str = FACT) -> None:
    killed = world.start_worker(topic, failpoints=failpoints)
    killed.wait_until_killed()
    blocks, attempts = world.blocks(topic), world.executions(topic)
    world.expire_leases()
    world.run_to_the_end(topic)
    world.assert_clean()
    table = topic.partition("#")[0]
    assert set(world.rows(table)) <= set(undisturbed[table])
    assert_same_bounds(blocks, world.blocks(topic))
    assert_explained(attempts, world.executions(topic))


def assert_same_bounds(before: Rows, after: Rows) -> None:
    """What was planned is what was loaded (R1, S34)."""
    bounds = ("id", "seq", "last_pos", "last_id", "next_pos", "next_id")
    kept = {tuple(block[name] for name in bounds) for block in after}
    assert {tuple(block[name] for name in bounds) for block in before} <= kept
    assert {block["status"] for block in after} == {"committed"}


def assert_explained(before: Rows, after: Rows) -> None:
    """The attempt that was lost ended, and the next one at its block has the next token (I6)."""
    assert {attempt["execution_code"] for attempt in after} <= {"Succeeded", "Failed"}
    for lost in (attempt for attempt in before if attempt["execution_code"] != "Succeeded"):
        ended, repeated = (next(a for a in after if a["token"] == lost["token"] + more) for more in (0, 1))
        assert ended["execution_code"] == "Failed"
        assert (repeated["execution_code"], repeated["block_id"]) == ("Succeeded", lost["block_id"])


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_any_point_leaves_a_block_that_the_next_one_repeats(
    world: World, undisturbed: dict[str, Rows], point: str
) -> None:
    assert_repeats(world, undisturbed, armed(point, "kill"))
    assert world.rows() == undisturbed[FACT]
    lost = [attempt for attempt in world.executions() if attempt["execution_code"] == "Failed"]
    assert len(lost) == (0 if point in (*BEFORE_THE_CLAIM, "commit.after") else 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("topic", [DIMENSION, EVENTS_A, EVENTS_B, MART])
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_of_any_module_killed_at_any_point_is_repeated(
    world: World, undisturbed: dict[str, Rows], topic: str, point: str
) -> None:
    if topic == DIMENSION:
        world.feed_customers()
        undisturbed = undisturbed | {DIMENSION: world.changed_customers()}
    if topic == MART:
        world.run_to_the_end(FACT)
    assert_repeats(world, undisturbed, armed(point, "kill"), topic)


@pytest.mark.exhaustive
@pytest.mark.parametrize("point", [point for point in POINTS if not point.startswith("plan.")])
def test_a_worker_killed_at_its_second_block_leaves_the_first_as_it_was(
    world: World, undisturbed: dict[str, Rows], point: str
) -> None:
    armed_ = f"stage.after=raise*2,{point}=kill" if point.startswith("fail.") else f"{point}=kill*2"
    assert_repeats(world, undisturbed, armed_)
    assert world.rows() == undisturbed[FACT]


@pytest.mark.exhaustive
@pytest.mark.parametrize("second", [point for point in POINTS if point not in ("plan.before", "plan.inside", "plan.after")])
@pytest.mark.parametrize("first", ["claim.after", "stage.after", "commit.cursor"])
def test_two_workers_killed_one_after_the_other_cost_nothing_but_time(
    world: World, undisturbed: dict[str, Rows], first: str, second: str
) -> None:
    world.start_worker(failpoints=armed(first, "kill")).wait_until_killed()
    world.expire_leases()
    world.start_worker(failpoints=armed(second, "kill")).wait_until_killed()
    world.expire_leases()
    world.run_to_the_end()
    world.assert_clean()
    assert world.rows() == undisturbed[FACT]
