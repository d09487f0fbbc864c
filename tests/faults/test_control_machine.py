"""Any order of plan, claim, expiry, commit by any old holder, failure, restatement, rollback, batch and act by hand keeps the
ledger whole (Means 2), on real Postgres: many topics, tags and shards, and tables that are built upon one another.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from _pytest.outcomes import Failed
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from dwh_assets.control.database import Database
from dwh_assets.model.errors import DwhError
from tests.faults.batch_machine import ControlMachine

SEEN = (AssertionError, Failed, psycopg.IntegrityError, DwhError)


def run(database: Database, examples: int, steps: int, phases: tuple[Phase, ...] = tuple(Phase), same: bool = False) -> None:
    machine = type("Machine", (ControlMachine,), {"database": database})
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=phases,
        derandomize=same,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=profile)


def restate_what_was_built_upon(machine: ControlMachine) -> None:
    machine.ask("fact.a", "restate", 1, 0)
    machine.claim("fact.a", 0, True)
    machine.commit("fact.a", False)
    machine.blocks_and_cursors_are_where_commits_and_people_put_them()


def restate_an_input_of_a_running_attempt(machine: ControlMachine) -> None:
    machine.claim("mart.d", 0, True)
    restate_what_was_built_upon(machine)
    machine.commit("mart.d", False)


def commit_what_another_has_taken_over(machine: ControlMachine) -> None:
    machine.claim("fact.c:1", 0, True)
    known = machine.model.topics["fact.c:1"]
    (old,) = known.claims
    machine.take_over("fact.c:1")
    machine._commit(known, old, False)


def publish_over_another_tag(machine: ControlMachine) -> None:
    machine.claim("fact.b#y", 0, True)
    machine.commit("fact.b#y", outdated=True)


def claim_what_another_holds(machine: ControlMachine) -> None:
    machine.claim("fact.c:2", 0, True)
    machine.claim("fact.c:2", 1, True)


ORDERS: dict[str, Callable[[ControlMachine], None]] = {
    "stale": restate_what_was_built_upon,
    "generation": restate_an_input_of_a_running_attempt,
    "token": commit_what_another_has_taken_over,
    "pointer": publish_over_another_tag,
    "lock": claim_what_another_holds,
}


@pytest.mark.parametrize("off", ORDERS)
def test_the_machine_sees_it_when_a_protection_is_off(database: Database, monkeypatch: pytest.MonkeyPatch, off: str) -> None:
    machine = type("Machine", (ControlMachine,), {"database": database})()
    machine.load_something()
    ORDERS[off](machine)
    monkeypatch.setenv("DWH_UNPROTECTED", off)
    machine = type("Machine", (ControlMachine,), {"database": database})()
    machine.load_something()
    with pytest.raises(SEEN):
        ORDERS[off](machine)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("off", ORDERS)
def test_random_steps_find_the_way_to_a_protection_that_is_off(
    database: Database, monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    monkeypatch.setenv("DWH_UNPROTECTED", off)
    with pytest.raises(SEEN):
        run(database, 300, steps=40, phases=(Phase.generate,), same=True)  # or a lucky order would hide a lost tooth


def test_no_order_of_workers_planners_and_people_breaks_the_ledger(database: Database) -> None:
    run(database, examples=12, steps=25)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_no_long_order_of_workers_planners_and_people_breaks_the_ledger(database: Database) -> None:
    run(database, examples=300, steps=60)
