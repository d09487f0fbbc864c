"""The control machine with batches: runs that begin, end and are lost while topics are loaded, restated and rolled back."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from dwh_assets.control.batches import BatchStore, Begin, Begun
from dwh_assets.model.errors import LeaseLost
from tests.faults.control_machine import ActMachine
from tests.faults.control_model import BATCH

PARTS = ("fact.a", "fact.c", "mart.d")


@dataclass
class Run:
    begun: Begun
    ok: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class ControlMachine(ActMachine):
    def __init__(self) -> None:
        super().__init__()
        self.batches = BatchStore(self.database, "one", 600)
        self.running: Run | None = None
        self.lease_over = False
        self.ended: list[Run] = []
        self.previous: tuple[str, list[str]] | None = None  # how the last run that did run has ended, and what succeeded then
        self.asked = "Proceed"

    @rule()
    def begin(self) -> None:
        if self.running is not None and self.lease_over:
            self._end("Failed")
        begun = self.batches.begin(BATCH, Begin())
        if self.running is not None:
            assert begun.decision.code == "Abort"
            return
        assert begun.decision.code == self.asked
        asked, self.asked = self.asked, "Proceed"
        if begun.decision.runs:
            made_good = asked == "Proceed" and self.previous is not None and self.previous[0] == "Failed"
            assert begun.skips == (tuple(self.previous[1]) if made_good and self.previous else ())
            self.running, self.lease_over = Run(begun, ok=list(begun.skips)), False

    @precondition(lambda self: self.running is not None)
    @rule(part=st.sampled_from(PARTS), ok=st.booleans())
    def note_part(self, part: str, ok: bool) -> None:
        assert self.running is not None
        self.batches.note(self.running.begun.instance, part, ok)
        (self.running.ok if ok else self.running.failed).append(part)

    @precondition(lambda self: self.running is not None)
    @rule()
    def end_batch(self) -> None:
        assert self.running is not None
        code = self.batches.end(self.running.begun, "it has ended")
        assert code == ("Failed" if self.running.failed else "Succeeded")
        self._end(code)

    @precondition(lambda self: self.running is not None)
    @rule(notice=st.booleans())
    def lose_batch(self, notice: bool) -> None:
        """Its process is gone; somebody notices now, or when the batch is next begun."""
        over = "update dwh.batch_instance set lease_until = now() - interval '1 s' where execution_code = 'Executing'"
        self.database.execute(over.encode())
        self.lease_over = True
        if notice:
            assert self.batches.end_lost() == 1
            self._end("Failed")

    @precondition(lambda self: self.running is not None)
    @rule()
    def renew_batch(self) -> None:
        assert self.running is not None
        assert self.batches.renew(self.running.begun.instance)
        self.lease_over = False

    @precondition(lambda self: bool(self.ended))
    @rule(data=st.data(), part=st.sampled_from(PARTS))
    def wake_up_after_the_end(self, data: st.DataObject, part: str) -> None:
        """A process that was paused can change nothing of an instance that has ended."""
        run = data.draw(st.sampled_from(self.ended))
        assert not self.batches.renew(run.begun.instance)
        with pytest.raises(LeaseLost):
            self.batches.note(run.begun.instance, part, True)
        with pytest.raises(LeaseLost):
            self.batches.end(run.begun, "it woke up")

    @rule(code=st.sampled_from(("Proceed", "Cancel", "Rollback")))
    def ask_of_next_run(self, code: str) -> None:
        self.batches.ask(BATCH, code, "by the machine", "test")
        self.asked = code

    def _end(self, code: str) -> None:
        assert self.running is not None
        self.ended.append(self.running)
        self.previous = (code, self.running.ok)
        self.running = None

    @invariant()
    def one_instance_runs_and_the_others_have_ended(self) -> None:
        rows = self.database.fetch("select id, execution_code, succeeded, failed from dwh.batch_instance order by id")
        running = [row["id"] for row in rows if row["execution_code"] == "Executing"]
        assert running == ([] if self.running is None else [self.running.begun.instance])
        told = {row["id"]: (row["succeeded"], row["failed"]) for row in rows}
        for run in [*self.ended, *([self.running] if self.running else [])]:
            assert told[run.begun.instance] == (run.ok, run.failed)
