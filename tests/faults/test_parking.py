"""Blocks that cannot be loaded are parked after their attempts; nothing is skipped, and the siblings go on."""

from __future__ import annotations

from collections import Counter

from dwh_assets.control.claim_set import CRASHES_PER_ATTEMPT
from dwh_assets.engine.loop import Loop
from tests.faults.world import FACT, Rows, World

BROKEN = "mart.broken"


def test_a_block_that_always_fails_is_parked_and_its_siblings_run(world: World, undisturbed: dict[str, Rows]) -> None:
    outcomes = world.run_to_the_end(BROKEN, FACT)
    ends = Counter((outcome.topic, outcome.result) for outcome in outcomes)
    assert ends == {(BROKEN, "failed"): 1, (BROKEN, "parked"): 1, (FACT, "committed"): 2}
    (block,) = world.blocks(BROKEN)  # the next one waits to be sized by the first
    assert (block["status"], block["failures"]) == ("parked", 2)
    assert world.rows() == undisturbed[FACT]
    parked = world.fetch("select topic from dwh.event_log where code = 'PARKED'")
    assert parked == [{"topic": BROKEN}]
    world.assert_clean()


def test_a_block_whose_workers_are_always_lost_is_parked_and_a_retry_by_hand_loads_it(
    world: World, undisturbed: dict[str, Rows]
) -> None:
    Loop(world.engine, topics=frozenset({FACT})).tick()
    attempts = world.lineage.module(FACT).attempts
    for _ in range(CRASHES_PER_ATTEMPT * attempts):
        world.engine.claims.claim(FACT)
        world.expire_leases()
    assert world.run_to_the_end()[0].result == "idle"
    assert world.blocks()[0]["status"] == "parked"
    assert {attempt["execution_code"] for attempt in world.executions()} == {"Failed"}
    world.assert_clean()
    world.acts.retry(FACT, "the workers are well again")
    world.run_to_the_end()
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()
