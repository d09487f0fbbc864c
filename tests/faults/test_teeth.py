"""Each protection is switched off once: the same scenario that is clean with it must then show a violation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dwh_assets
from dwh_assets.control.blocks import block_of
from dwh_assets.engine.attempt import publish
from dwh_assets.engine.check import check
from dwh_assets.engine.lease import Lease
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.phases import Phases
from dwh_assets.engine.stage import stage
from dwh_assets.model.block import RowCounts
from dwh_assets.model.errors import LeaseLost
from dwh_assets.model.failpoints import PROTECTIONS
from dwh_assets.warehouse.branches import fork, qualified, writer_options
from dwh_assets.warehouse.manifests import staged
from dwh_assets.warehouse.publish import next_metadata
from tests.faults.orders_project import append, orders
from tests.faults.test_restated_inputs import facts_without_customers, paused_downstream, restate_the_facts
from tests.faults.world import EVENTS_A, EVENTS_B, FACT, MART, Farm, World

Scenario = Callable[[World, str], list[str]]


@contextmanager
def switched_off(unprotected: str) -> Iterator[None]:
    """In this process; worker processes get theirs when they start."""
    os.environ["DWH_UNPROTECTED"] = unprotected
    try:
        yield
    finally:
        del os.environ["DWH_UNPROTECTED"]


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


SCENARIOS: dict[str, list[Scenario]] = {
    "stored_range": [more_rows_come_before_an_open_block_is_repeated],
    "token": [a_newer_holder_stages_while_the_older_one_wakes],
    "position": [the_rightful_holder_commits_its_block_twice],
    "pointer": [another_topic_publishes_to_the_same_table_before_this_one],
    "generation": [an_input_is_restated_while_a_step_runs],
    "lock": [another_worker_wants_the_topic_while_its_holder_works, two_planners_cut_the_same_topic],
    "snapshot": [late_rows_come_between_the_claim_and_the_write],
    "reread": [],  # test_lost_reply.py: it needs the proxy
}
CASES = [(name, scenario) for name, scenarios in SCENARIOS.items() for scenario in scenarios]


@pytest.mark.parametrize(("protection", "scenario"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_is_seen_when_its_protection_is_off_and_only_then(farm: Farm, protection: str, scenario: Scenario) -> None:
    with farm.world() as world:
        assert scenario(world, "") == []
    with farm.world() as world:
        assert scenario(world, protection) != []


def test_every_protection_is_used_and_has_a_scenario() -> None:
    used = _literals("protected")
    assert used == set(PROTECTIONS)
    assert set(SCENARIOS) == set(PROTECTIONS)
    elsewhere = {name for name, scenarios in SCENARIOS.items() if not scenarios}
    told = Path(__file__).with_name("test_lost_reply.py").read_text()
    assert all(f'"DWH_UNPROTECTED", "{name}"' in told for name in elsewhere)


def _literals(function: str) -> set[str]:
    sources = Path(dwh_assets.__file__).parent.rglob("*.py")
    return {name for file in sources for name in re.findall(rf'\b{function}\("([a-z_.]+)"\)', file.read_text())}
