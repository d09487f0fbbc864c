"""An input that is restated or rolled back while a step runs fails that step's commit, not only the next claim (R17)."""

from __future__ import annotations

from dwh_assets.engine.restate import reset_backward, restate, span_of
from dwh_assets.model.position import EARLIEST
from tests.faults.nursery import Worker
from tests.faults.world import DIMENSION, FACT, MART, Rows, World


def paused_downstream(world: World, unprotected: str = "") -> Worker:
    world.run_to_the_end(FACT)
    worker = world.start_worker(MART, failpoints="commit.before=stop*1", unprotected=unprotected)
    worker.wait_until_stopped()
    return worker


def restate_the_facts(world: World) -> None:
    world.feed_customers()
    world.run_to_the_end(DIMENSION)
    done = restate(world.engine, world.lineage, world.acts, span_of(world.engine, world.lineage, FACT, 1, None), "new segments")
    assert done.result == "committed"


def facts_without_customers(world: World) -> Rows:
    return sorted(((row[0], row[2], row[3], row[4]) for row in world.rows(FACT)), key=repr)


def test_a_step_whose_input_was_restated_meanwhile_does_not_commit_and_is_repeated(world: World) -> None:
    worker = paused_downstream(world)
    restate_the_facts(world)
    assert worker.finish() == ["failed", "committed", "committed"]
    (first, *_) = world.executions(MART)
    assert "was rolled back or restated while this attempt ran" in first["reason"]
    assert [block["failures"] for block in world.blocks(MART)] == [0, 0]
    assert world.rows(MART) == facts_without_customers(world)
    world.assert_clean()


def test_a_step_whose_input_was_rolled_back_meanwhile_waits_until_it_is_there_again(
    world: World, undisturbed: dict[str, Rows]
) -> None:
    worker = paused_downstream(world)
    done = reset_backward(world.engine, world.lineage, world.acts, FACT, EARLIEST, "wrong rows")
    assert done.result == "committed"
    assert world.rows(FACT) == []
    assert worker.finish() == ["failed"]
    assert world.rows(MART) == []
    world.run_to_the_end(FACT)
    world.run_to_the_end(MART)
    assert world.rows(MART) == undisturbed[MART]
    world.assert_clean()
