"""What may go wrong while blocks are loaded: each scenario says what it found wrong afterwards, nothing where all holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from dwh_assets.control.blocks import block_of
from dwh_assets.control.topics import PlannedBlock
from dwh_assets.engine.attempt import attempt, publish
from dwh_assets.engine.check import check
from dwh_assets.engine.lease import Lease
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.observe import observe
from dwh_assets.engine.phases import Phases
from dwh_assets.engine.restate import reset_backward, restate, stale_spans
from dwh_assets.engine.stage import stage
from dwh_assets.model.block import RowCounts
from dwh_assets.model.errors import LeaseLost
from dwh_assets.model.position import EARLIEST, Position
from dwh_assets.warehouse.branches import fork, qualified, writer_options
from dwh_assets.warehouse.manifests import staged
from dwh_assets.warehouse.publish import next_metadata
from tests.faults.orders_project import START, append, orders
from tests.faults.test_restated_inputs import facts_without_customers, paused_downstream, restate_the_facts
from tests.faults.world import DIMENSION, EVENTS_A, EVENTS_B, FACT, MART, World

Scenario = Callable[[World, str], list[str]]


@contextmanager
def switched_off(unprotected: str) -> Iterator[None]:
    """In this process; worker processes get theirs when they start."""
    os.environ["DWH_UNPROTECTED"] = unprotected
    try:
        yield
    finally:
        del os.environ["DWH_UNPROTECTED"]


@contextmanager
def armed(failpoints: str) -> Iterator[None]:
    """In this process."""
    os.environ["DWH_FAILPOINTS"] = failpoints
    try:
        yield
    finally:
        del os.environ["DWH_FAILPOINTS"]


def a_newer_holder_stages_while_the_older_one_wakes(world: World, unprotected: str) -> list[str]:
    sleeper = world.start_worker(failpoints="commit.before=stop*1", unprotected=unprotected)
    sleeper.wait_until_stopped()
    world.expire_leases()
    newer = world.start_worker(failpoints="stage.before=stop*1", unprotected=unprotected)
    newer.wait_until_stopped()
    sleeper.finish()
    newer.finish()
    return world.findings()


def the_rightful_holder_commits_its_block_twice(world: World, unprotected: str) -> list[str]:
    """As it would if it took a lost reply for a failure and did all of its work again."""
    engine = world.engine
    Loop(engine, topics=frozenset({FACT})).tick()
    claim = engine.claims.claim(FACT)
    with Lease(engine.claims, claim).kept() as lease:
        attempt = stage(engine, world.lineage, claim, lease, Phases(claim, engine.tell_phases))
        stats = check(claim, attempt, 1.0, None)
        publish(engine, world.lineage, claim, attempt, stats, lease)
    again = fork(engine.catalog, FACT, claim.execution_id)
    writer = engine.session().table(FACT).writeTo(qualified(again))
    writer.options(**writer_options(claim.execution_id)).append()
    pointer = next_metadata(engine.catalog, again, staged(engine.catalog, again))
    with switched_off(unprotected):
        try:
            engine.commits.commit(claim, [pointer], stats, RowCounts())
        except LeaseLost:
            assert not unprotected
    return world.findings()


def another_topic_publishes_to_the_same_table_before_this_one(world: World, unprotected: str) -> list[str]:
    slow = world.start_worker(EVENTS_A, failpoints="commit.before=stop*1", unprotected=unprotected)
    slow.wait_until_stopped()
    world.run_to_the_end(EVENTS_B)
    slow.finish()
    return world.findings()


def an_input_is_restated_while_a_step_runs(world: World, unprotected: str) -> list[str]:
    worker = paused_downstream(world, unprotected)
    restate_the_facts(world)
    worker.finish()
    return [] if world.rows(MART) == facts_without_customers(world) else ["mart.orders was built upon rows that are gone"]


def another_worker_wants_the_topic_while_its_holder_works(world: World, unprotected: str) -> list[str]:
    holder = world.start_worker(failpoints="stage.before=stop*1", unprotected=unprotected)
    holder.wait_until_stopped()
    world.start_worker(act="force", unprotected=unprotected).wait()
    results = holder.finish()
    return [] if results == ["committed", "committed"] else [f"a valid lease was taken away: {results}"]


def two_planners_cut_the_same_topic(world: World, unprotected: str) -> list[str]:
    """Without the lock the constraints of the database still keep the blocks whole; but the topic is held back for it."""
    slow = world.start_worker(failpoints="plan.before=stop*1", unprotected=unprotected)
    slow.wait_until_stopped()
    Loop(world.engine, topics=frozenset({FACT})).tick()
    slow.finish()
    return [row["text"] for row in world.fetch("select text from dwh.event_log where code = 'PLAN'")]


def late_rows_come_between_the_claim_and_the_write(world: World, unprotected: str) -> list[str]:
    """The ledger must name the state of the base that was read, and the table must hold what that state held."""
    worker = world.start_worker(failpoints="stage.before=stop*1", unprotected=unprotected)
    worker.wait_until_stopped()
    append(world.engine.catalog, "stage.orders", [row | {"amount": 1_000_000} for row in orders(1, 5)])
    worker.finish()
    first = world.blocks()[0]["id"]
    (read,) = world.fetch(
        "select b.*, e.inputs ->> 'stage.orders' as snapshot from dwh.block b join dwh.execution e on e.block_id = b.id"
        " where b.id = %(id)s",
        id=first,
    )
    if read["snapshot"] is None:
        return ["the ledger does not say which rows were read"]
    base = world.engine.source("stage.orders", world.lineage)
    then = base.fingerprint(block_of(read).bounds, int(read["snapshot"]))
    return [] if then.rows == read["base_rows"] else [f"{then.rows} rows were there, {read['base_rows']} were read"]


def more_rows_come_before_an_open_block_is_repeated(world: World, unprotected: str) -> list[str]:
    world.start_worker(failpoints="stage.after=kill*2").wait_until_killed()
    begun = world.blocks()[1]
    append(world.engine.catalog, "stage.orders", orders(71, 80))
    world.expire_leases()
    with switched_off(unprotected):
        world.run_to_the_end()
    assert world.findings() == []
    same = [block for block in world.blocks() if block["status"] == "committed" and block["id"] == begun["id"]]
    return [] if same else ["the block that was begun was not the one that was repeated"]


def two_topics_stage_to_one_table_at_once(world: World, unprotected: str) -> list[str]:
    one = world.start_worker(EVENTS_A, failpoints="fork.after=stop*1", unprotected=unprotected)
    one.wait_until_stopped()
    other = world.start_worker(EVENTS_B, failpoints="check.before=stop*1", unprotected=unprotected)
    other.wait_until_stopped()
    one.finish()
    other.finish()
    return world.findings()


def a_rollback_breaks_off_before_its_commit(world: World, unprotected: str) -> list[str]:
    world.run_to_the_end()
    before = world.rows()
    with switched_off(unprotected), armed("check.before=raise"):
        broken = reset_backward(world.engine, world.lineage, world.acts, FACT, EARLIEST, "wrong rows")
    assert broken.result == "failed"
    return [] if world.rows() == before else [f"{len(before)} published rows became {len(world.rows())}"]


def a_worker_dies_with_its_rows_staged(world: World, unprotected: str) -> list[str]:
    world.start_worker(failpoints="stage.after=kill*1", unprotected=unprotected).wait_until_killed()
    return [] if world.rows() == [] else [f"{len(world.rows())} rows are readable that were never committed"]


def a_holder_has_a_clock_that_is_a_day_behind(world: World, unprotected: str) -> list[str]:
    holder = world.start_worker(failpoints="stage.after=stop*1", unprotected=unprotected, clock=-86_400.0)
    holder.wait_until_stopped()
    rival = world.start_worker(act="claim", unprotected=unprotected)
    rival.wait()
    return [] if rival.results == ["Refused"] else [f"a valid lease was taken away: {rival.results}"]


def a_block_of_the_dimension_ends_between_equal_positions(world: World, unprotected: str) -> list[str]:
    """Orders of an instant must not be loaded before all customers of that instant are."""
    engine, at = world.engine, START + timedelta(days=2)
    world.feed_customers()
    append(engine.catalog, "stage.orders", [row | {"pos": at} for row in orders(101, 107)])
    (topic,) = world.fetch("select id from dwh.topic where name = %(name)s", name=DIMENSION)
    state = engine.topics.planning_state(topic["id"])
    assert state is not None
    observe(engine, world.lineage)
    assert engine.topics.store_plan(topic["id"], state, [PlannedBlock(Position(at, 203), 3, takes_all=False)], at, START)
    with switched_off(unprotected):
        assert attempt(engine, world.lineage, DIMENSION, force=True).result == "committed"
    world.run_to_the_end(FACT)
    world.run_to_the_end(DIMENSION)
    world.run_to_the_end(FACT)
    found = [row["segment"] for row in engine.catalog.load(FACT).scan().to_arrow().to_pylist() if row["pos"] == at]
    assert len(found) == 7
    return [] if set(found) == {"gold"} else [f"orders met customers that were not complete: {sorted(found)}"]


def facts_are_restated_after_something_was_built_upon_them(world: World, unprotected: str) -> list[str]:
    world.run_to_the_end(FACT)
    world.run_to_the_end(MART)
    with switched_off(unprotected):
        restate_the_facts(world)
    for span in stale_spans(world.engine, world.lineage):
        restate(world.engine, world.lineage, world.acts, span, "built upon what was restated")
    return [] if world.rows(MART) == facts_without_customers(world) else ["mart.orders still holds what the facts were before"]
