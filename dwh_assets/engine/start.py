"""A run of one module that was asked for, alone or by its batch: evaluated, written down, loaded up to its horizon."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.commands import run_command
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.observe import observe
from dwh_assets.engine.plan import plan_topic
from dwh_assets.model.batch import Command
from dwh_assets.model.block import Start
from dwh_assets.model.errors import StartRefused, UnknownTopic
from dwh_assets.model.evaluation import Decision
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.near import did_you_mean
from dwh_assets.model.parameter import resolve

Report = Callable[[Outcome], None]
PAUSE = 0.2
ALONE = Start()


@dataclass(frozen=True)
class Ran:
    """How a module, or one topic of it, ended."""

    name: str
    code: Literal["Succeeded", "Failed", "Aborted", "Cancelled"]
    text: str
    rows: int = 0
    blocked: bool = False  # cancelled as something that it waits for did not succeed

    @property
    def ok(self) -> bool:
        return self.code in ("Succeeded", "Cancelled") and not self.blocked


@dataclass(frozen=True)
class Starter:
    """What a run of modules needs. `attempts` is how often a module is tried in all; `patience` how long it waits for who loads a
    topic at the moment, before its start is aborted."""

    engine: Engine
    lineage: Lineage
    start: Start = ALONE
    attempts: int = 1
    patience: float = 0.0
    report: Report = lambda outcome: None

    def run(self, name: str) -> Ran:
        """A module with all its topics, or a single topic."""
        command = next((command for command in self.lineage.commands if command.name == name), None)
        if command is not None:
            return self._command(command)
        module = next((m for m in self.lineage.modules if name == m.name or name in m.topics), None)
        if module is None:
            known = [*(m.name for m in self.lineage.modules), *(command.name for command in self.lineage.commands)]
            near = did_you_mean(name, known)
            raise UnknownTopic(f"there is no module {name!r}.{near} `dwh lineage show` lists them all. Nothing was run.")
        topics = module.topics if name == module.name else (name,)
        return _together(name, [self._topic(module, topic) for topic in topics])

    def leave_out(self, name: str, decision: Decision) -> None:
        """Write down that a module does not run in this batch."""
        module = next((m for m in self.lineage.modules if m.name == name), None)
        for topic in (name,) if module is None else module.topics:
            self.engine.claims.write_down(topic, self.start, decision)

    def _command(self, command: Command) -> Ran:
        try:
            finished = run_command(self.engine, command, self.start, self.attempts, self._variables())
        except StartRefused as error:
            return _refused(command.name, error)
        if finished.problem is not None:
            return Ran(command.name, "Failed", finished.problem)
        return Ran(command.name, "Succeeded", "done", finished.counts.inserted)

    def _variables(self) -> dict[str, str]:
        """What a command is told by its environment."""
        values = resolve(self.lineage.parameters, self.start.parameters, ())
        told = {f"DWH_PARAM_{parameter.name.upper()}": parameter.value for parameter in values}
        if self.start.batch is not None:
            told |= {"DWH_BATCH": self.start.batch, "DWH_BATCH_INSTANCE": str(self.start.instance)}
        return told

    def _topic(self, module: Module, topic: str) -> Ran:
        start, failures, rows, horizon = self.start, 0, 0, None
        self._wait_until_free(topic)
        while True:
            horizon = horizon or self._plan(module, topic)
            try:
                outcome = attempt(self.engine, self.lineage, topic, force=True, start=start)
            except StartRefused as error:
                return _refused(topic, error)
            if outcome.result == "idle":
                return self._idle(topic, start, rows, outcome, failures)
            self.report(outcome)
            start = replace(start, roll_back=False)
            if outcome.result != "committed":
                failures += 1
                if failures >= self.attempts or outcome.result == "lost":
                    return Ran(topic, "Failed", outcome.text, rows)
                continue
            rows += outcome.rows
            if _complete(outcome, horizon):
                return Ran(topic, "Succeeded", f"{rows} rows", rows)
            self._plan(module, topic)

    def _idle(self, topic: str, start: Start, rows: int, outcome: Outcome, failures: int) -> Ran:
        """Nothing (more) to do. A run that loaded nothing is an instance too."""
        if failures:
            return Ran(topic, "Failed", outcome.text, rows)
        if not rows:
            self.engine.claims.write_down(topic, start, Decision("Proceed", outcome.text), "Succeeded")
        return Ran(topic, "Succeeded", f"{rows} rows" if rows else "nothing new to load", rows)

    def _plan(self, module: Module, topic: str) -> datetime | None:
        """Look at its sources and plan its next blocks, whatever its repeat and window say; returns its horizon."""
        observe(self.engine, self.lineage, set(module.inputs))
        row = self.engine.topics.verdicts([topic])[0]
        if row["unexamined"] and not row["planned"] and not row["open_block"]:
            plan_topic(self.engine, self.lineage, module, row)
        return row["upto"]

    def _wait_until_free(self, topic: str) -> None:
        until = time.monotonic() + self.patience
        while time.monotonic() < until and self.engine.topics.verdicts([topic])[0]["verdict"] == "LOCKED":
            time.sleep(PAUSE)


def _complete(outcome: Outcome, horizon: datetime | None) -> bool:
    """The block took everything below the horizon that held when the run began: what came since is for the next run."""
    claim = outcome.claim
    if claim is None or claim.kind != "load" or horizon is None:
        return False
    return claim.block.takes_all and claim.block.upto >= horizon


def _refused(name: str, error: StartRefused) -> Ran:
    return Ran(name, "Aborted" if error.code == "Abort" else "Cancelled", str(error))


def _together(name: str, parts: list[Ran]) -> Ran:
    """The worst of its topics speaks for the module."""
    order = ("Failed", "Aborted", "Succeeded", "Cancelled")
    worst = min(parts, key=lambda part: order.index(part.code))
    text = "; ".join(dict.fromkeys(part.text for part in parts if part.code == worst.code))
    return Ran(name, worst.code, text, sum(part.rows for part in parts))
