"""Starts of modules and batches on real Postgres: any order of events gives what the decision tables say (D3 to D6)."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from dwh_assets.control.acts import ActStore
from dwh_assets.control.batches import BatchStore, Begin, Begun
from dwh_assets.control.commands import CommandStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.model.batch import Batch, Command, Link
from dwh_assets.model.block import Hold, RowCounts, Start
from dwh_assets.model.errors import LeaseLost, StartRefused
from dwh_assets.model.module import Lineage

WORK = Command("ops.work", "command", ("true",))
NIGHTLY = Batch("nightly", (Link("ops.work"),))
HAND = Begin()
ALONE = Start()


def put_in_force(database: Database, batch: Batch = NIGHTLY, command: Command = WORK) -> None:
    LineageStore(database).apply(Lineage((), (), batches=(batch,), commands=(command,)), "test")


def run_out(database: Database) -> None:
    """Every lease is over, as if its holder had died."""
    database.execute("update dwh.topic set lease_until = now() - interval '1 s' where lease_until is not null")
    database.execute("update dwh.batch_instance set lease_until = now() - interval '1 s' where lease_until is not null")


def codes(database: Database, table: str = "execution") -> list[tuple[str, str, str]]:
    rows = database.fetch(f"select execution_code, processing_code, next_run_code from dwh.{table} order by id".encode())
    return [tuple(row.values()) for row in rows]


def test_of_forty_starts_at_once_one_proceeds_and_the_others_abort(database: Database) -> None:
    put_in_force(database)
    stores = [CommandStore(database, f"w{number}", 60) for number in range(40)]

    def start(store: CommandStore) -> str:
        try:
            store.begin("ops.work", ALONE)
        except StartRefused as error:
            return error.code
        return "Proceed"

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(start, stores)) == {"Proceed": 1, "Abort": 39}
    assert Counter(code for _, code, _ in codes(database)) == {"Proceed": 1, "Abort": 39}


def test_of_forty_runs_of_a_batch_at_once_one_proceeds_and_the_others_abort(database: Database) -> None:
    put_in_force(database)
    stores = [BatchStore(database, f"w{number}", 60) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda store: store.begin("nightly", HAND).decision.code, stores))
    assert Counter(begun) == {"Proceed": 1, "Abort": 39}


def test_a_lost_run_is_ended_by_the_sweep_and_rolled_back_by_the_next(database: Database) -> None:
    put_in_force(database)
    store, batches = CommandStore(database, "w", 60), BatchStore(database, "w", 60)
    instance = batches.begin("nightly", HAND).instance
    hold = store.begin("ops.work", Start("nightly", instance))
    assert (store.end_lost(), batches.end_lost()) == (0, 0)
    run_out(database)
    assert (store.end_lost(), batches.end_lost()) == (1, 1)
    assert codes(database) == [("Failed", "Proceed", "Rollback")]
    assert codes(database, "batch_instance") == [("Failed", "Proceed", "Proceed")]
    with pytest.raises(LeaseLost):
        store.succeed(hold, RowCounts())
    store.begin("ops.work", ALONE)
    assert codes(database)[1] == ("Executing", "Rollback", "Proceed")


def test_a_batch_that_succeeded_in_its_period_is_cancelled_unless_it_is_asked_for_again(database: Database) -> None:
    put_in_force(database, replace(NIGHTLY, frequency="0 0 1 1 *"))
    store = BatchStore(database, "w", 60)
    first = store.begin("nightly", HAND)
    store.note(first.instance, "ops.work", True)
    store.end(first, "done")
    assert store.begin("nightly", HAND).decision.code == "Cancel"
    assert store.begin("nightly", Begin(again=True)).decision.code == "Proceed"


def test_a_module_that_is_no_part_of_the_batch_is_aborted(database: Database) -> None:
    put_in_force(database, replace(NIGHTLY, modules=(), batches=()))
    with pytest.raises(StartRefused, match="not part of the batch"):
        CommandStore(database, "w", 60).begin("ops.work", Start("nightly"))


def test_the_lineage_in_force_holds_batches_and_commands_and_keeps_their_history(database: Database) -> None:
    put_in_force(database)
    put_in_force(database, replace(NIGHTLY, modules=(Link("ops.work", active=False),), after=("nightly",)))
    store = LineageStore(database)
    assert store.active().batches == (replace(NIGHTLY, modules=(Link("ops.work", active=False),), after=("nightly",)),)
    assert store.active().commands == (WORK,)
    assert [row["version"] for row in store.history("nightly")] == [2, 1]
    changes = store.apply(Lineage((), ()), "test")
    assert [(change.kind, change.what) for change in changes] == [("remove", "command"), ("remove", "batch")]
    assert store.active() == Lineage((), ())


class StartMachine(RuleBasedStateMachine):
    """One command and one batch, started, ended, lost, switched off in any order, beside a model of what must be."""

    database: Database  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.database.execute(b"truncate dwh.module, dwh.module_version, dwh.topic, dwh.batch cascade")
        put_in_force(self.database)
        self.commands, self.batches = CommandStore(self.database, "w", 600), BatchStore(self.database, "w", 600)
        self.acts = ActStore(self.database, "test")
        self.live: Hold | None = None
        self.old: list[Hold] = []
        self.running: Begun | None = None
        self.asked, self.batch_asked = "Proceed", "Proceed"
        self.failed, self.active = False, True
        self.previous: str | None = None

    def expected(self) -> str:
        if self.live is not None:
            return "Abort"
        if not self.active or self.asked == "Cancel":
            return "Cancel"
        return "Rollback" if self.asked == "Rollback" or self.failed else "Proceed"

    @rule()
    def start(self) -> None:
        expected = self.expected()
        if expected in ("Abort", "Cancel"):
            with pytest.raises(StartRefused) as refused:
                self.commands.begin("ops.work", ALONE)
            assert refused.value.code == expected
        else:
            self.live, self.failed = self.commands.begin("ops.work", ALONE), False
        if expected in ("Proceed", "Rollback") or (expected == "Cancel" and self.active):
            self.asked = "Proceed"  # an aborted start, and one of what is switched off, leave the wish as it is
        assert codes(self.database)[-1][1] == expected

    @precondition(lambda self: self.live)
    @rule(well=st.booleans())
    def end(self, well: bool) -> None:
        assert self.live is not None
        if well:
            self.commands.succeed(self.live, RowCounts())
        else:
            self.commands.fail(self.live, "it failed")
        self.failed = not well
        self.old.append(self.live)
        self.live = None

    @precondition(lambda self: self.live)
    @rule(swept=st.booleans())
    def lose(self, swept: bool) -> None:
        """Its process is gone. The sweep ends it, or the next start does."""
        assert self.live is not None
        run_out(self.database)
        if swept:
            assert self.commands.end_lost() == 1
        self.failed = True
        self.old.append(self.live)
        self.live = None
        self.running = None if self.running is None else self._lost_batch()

    def _lost_batch(self) -> None:
        self.previous = "Failed"

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def wake_up(self, data: st.DataObject) -> None:
        """A holder of before comes back: it can change nothing."""
        before = codes(self.database)
        with pytest.raises(LeaseLost):
            self.commands.succeed(replace(data.draw(st.sampled_from(self.old)), token=-1), RowCounts())
        self.commands.fail(replace(data.draw(st.sampled_from(self.old)), token=-1), "too late")
        assert codes(self.database) == before

    @rule(code=st.sampled_from(["Proceed", "Cancel", "Rollback"]))
    def ask(self, code: str) -> None:
        self.acts.ask_next_run("ops.work", code, "a test")
        self.asked = code

    @rule()
    def switch(self) -> None:
        self.active = not self.active
        put_in_force(self.database, command=replace(WORK, active=self.active))

    @rule(code=st.sampled_from(["Proceed", "Cancel", "Rollback"]))
    def ask_batch(self, code: str) -> None:
        self.batches.ask("nightly", code, "a test", "test")
        self.batch_asked = code

    @rule()
    def begin_batch(self) -> None:
        expected = "Abort" if self.running else {"Proceed": "Proceed"}.get(self.batch_asked, self.batch_asked)
        begun = self.batches.begin("nightly", HAND)
        assert begun.decision.code == expected
        if expected != "Abort":
            self.batch_asked = "Proceed"
        if begun.decision.runs:
            self.running = begun

    @precondition(lambda self: self.running)
    @rule(well=st.booleans())
    def end_batch(self, well: bool) -> None:
        assert self.running is not None
        self.batches.note(self.running.instance, "ops.work", well)
        assert self.batches.end(self.running, "done") == ("Succeeded" if well else "Failed")
        self.previous, self.running = "Succeeded" if well else "Failed", None

    @invariant()
    def nothing_runs_that_nobody_holds(self) -> None:
        rows = self.database.fetch(
            "select e.id from dwh.execution e join dwh.topic t on t.id = e.topic_id "
            "where e.execution_code = 'Executing' and t.lease_until > clock_timestamp()"
        )
        assert [row["id"] for row in rows] == ([self.live.execution_id] if self.live else [])


def drive(database: Database, **chosen: Any) -> None:
    machine = type("Machine", (StartMachine,), {"database": database})
    always = settings(stateful_step_count=25, deadline=None, suppress_health_check=(HealthCheck.too_slow,), database=None)
    run_state_machine_as_test(machine, settings=settings(always, **chosen))


def test_any_order_of_starts_ends_losses_and_wishes_gives_what_the_tables_say(database: Database) -> None:
    drive(database, max_examples=20, derandomize=True)  # the same orders each time


@pytest.mark.exhaustive
def test_many_random_orders_of_starts_give_what_the_tables_say(database: Database) -> None:
    drive(database, max_examples=150)
