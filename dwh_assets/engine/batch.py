"""Runs of batches: the batches in it, then its modules in the order of their dependencies, each part noted as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import Literal

from dwh_assets.control.batches import Begin, Begun
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.renewing import renewed
from dwh_assets.engine.start import Ran, Report, Starter
from dwh_assets.model.batch import Link
from dwh_assets.model.block import Start
from dwh_assets.model.errors import DwhError
from dwh_assets.model.evaluation import Decision
from dwh_assets.model.failpoints import failpoint
from dwh_assets.model.graph import upstream
from dwh_assets.model.module import Lineage

Code = Literal["Succeeded", "Failed", "Aborted", "Cancelled"]


@dataclass(frozen=True)
class BatchRan:
    """How a run of a batch ended, and its parts in the order of their ends."""

    batch: str
    instance: int
    code: Code
    processing_code: str
    text: str
    parts: tuple[Ran, ...] = ()
    followed: tuple[BatchRan, ...] = ()


@dataclass(frozen=True)
class BatchRunner:
    engine: Engine
    lineage: Lineage
    report: Report = lambda outcome: None
    part_ended: Callable[[str, Ran], None] = lambda batch, part: None
    dagster_run: str | None = None
    _seen: set[str] = field(default_factory=set)  # batches that were run, so that a follower runs once

    def run(self, name: str, how: Begin | None = None) -> BatchRan:
        """The batch, and then those that come after it, as far as they are due to."""
        ran = self._run(name, replace(how or Begin(), dagster_run=self.dagster_run))
        followed = tuple(self._follow(name)) if ran.code == "Succeeded" else ()
        return replace(ran, followed=followed)

    def _follow(self, name: str) -> Iterator[BatchRan]:
        for follower in self.engine.batches.to_follow():
            if follower not in self._seen and name in self.lineage.batch(follower).after:
                yield self.run(follower, Begin(started_by=f"after {name}", again=True))

    def _run(self, name: str, how: Begin) -> BatchRan:
        self._seen.add(name)
        failpoint("batch.before")
        begun = self.engine.batches.begin(name, how)
        failpoint("batch.begun")
        decision = begun.decision
        if not decision.runs:
            return BatchRan(name, begun.instance, _not_run(decision), decision.code, decision.text)
        parts: list[Ran] = []
        store, seconds = self.engine.batches, self.engine.settings.lease_seconds
        with renewed(lambda: store.renew(begun.instance), seconds, f"batch-{name}"):
            for part in self._parts(begun):
                parts.append(part)
                store.note(begun.instance, part.name, part.ok)
                self.part_ended(name, part)
            failpoint("batch.ending")
            text = _summary(begun, parts)
            code = store.end(begun, text)
        failpoint("batch.ended")
        return BatchRan(name, begun.instance, _ended(code), decision.code, text, tuple(parts))

    def _parts(self, begun: Begun) -> Iterator[Ran]:
        batch = begun.batch
        stops = batch.kind == "MAINTENANCE"
        for link in batch.batches:
            if link.name in begun.skips:
                continue
            part = self._child(link, begun)
            yield part
            if stops and not part.ok:
                return
        starter = self._starter(begun)
        for name in begun.skips:
            if any(link.name == name for link in batch.modules):
                starter.leave_out(name, Decision("Cancel", "it succeeded in the run that this one makes good"))
        wanted = [link.name for link in batch.modules if link.name not in begun.skips]
        yield from self._in_order(starter, wanted) if stops else self._by_dependencies(starter, wanted)

    def _child(self, link: Link, begun: Begun) -> Ran:
        state = "active" if link.active else "inactive"
        if begun.decision.code == "Rollback" and link.active:
            self.engine.batches.ask(link.name, "Rollback", f"batch {begun.batch.name} is rolled back", self.engine.worker)
        how = Begin(f"batch {begun.batch.name}", begun.instance, state, again=True, dagster_run=self.dagster_run)
        ran = self._run(link.name, how)
        return Ran(link.name, ran.code, ran.text, sum(part.rows for part in ran.parts))

    def _starter(self, begun: Begun) -> Starter:
        batch = begun.batch
        start = Start(batch.name, begun.instance, begun.decision.code == "Rollback", batch.parameters)
        patience = self.engine.settings.deadline_seconds
        return Starter(self.engine, self.lineage, start, batch.retries, patience, self.report)

    def _in_order(self, starter: Starter, names: list[str]) -> Iterator[Ran]:
        """One after the other; nothing comes after a failure (K6)."""
        for name in names:
            part = _safely(starter, name)
            yield part
            if not part.ok:
                return

    def _by_dependencies(self, starter: Starter, names: list[str]) -> Iterator[Ran]:
        """Side by side as far as their dependencies allow; what waits for a failed one is left out and named (K4, K5)."""
        needs = {name: self._needs(name, names) for name in names}
        sorter = TopologicalSorter(needs)
        sorter.prepare()
        bad: dict[str, str] = {}
        with ThreadPoolExecutor(self.engine.settings.slots, thread_name_prefix="batch") as pool:
            running: dict[Future[Ran], str] = {}
            while sorter.is_active():
                for name in sorter.get_ready():
                    running[pool.submit(_unless_blocked, starter, name, needs[name], bad)] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    sorter.done(running.pop(future))
                    part = future.result()
                    if not part.ok:
                        bad[part.name] = part.text
                    yield part

    def _needs(self, name: str, names: list[str]) -> list[str]:
        """The modules of the batch that come before this one: those that build what it waits for, through all levels."""
        command = next((command for command in self.lineage.commands if command.name == name), None)
        if command is not None:
            return [other for other in command.depends_on if other in names]
        tables = set(upstream(self.lineage, self.lineage.module(name).table))
        return [m.name for m in self.lineage.modules if m.name in names and m.name != name and m.table in tables]


def _unless_blocked(starter: Starter, name: str, needs: list[str], bad: Mapping[str, str]) -> Ran:
    blocked = [need for need in needs if need in bad]
    if blocked:
        text = f"it waits for {', '.join(blocked)}, which did not succeed in this run"
        starter.leave_out(name, Decision("Cancel", text))
        return Ran(name, "Cancelled", text, blocked=True)
    return _safely(starter, name)


def _safely(starter: Starter, name: str) -> Ran:
    """One bad module stops no other: whatever its run raises is its result."""
    failpoint("batch.module")
    try:
        return starter.run(name)
    except DwhError as error:
        return Ran(name, "Failed", str(error))


def _not_run(decision: Decision) -> Code:
    return "Aborted" if decision.code == "Abort" else "Cancelled"


def _ended(code: str) -> Code:
    return "Failed" if code == "Failed" else "Succeeded"


def _summary(begun: Begun, parts: list[Ran]) -> str:
    bad = [part for part in parts if not part.ok]
    if bad:
        return "; ".join(f"{part.name}: {part.text.splitlines()[0]}" for part in bad)
    left_out = f", {len(begun.skips)} left out" if begun.skips else ""
    return f"{len(parts)} parts{left_out}, {sum(part.rows for part in parts)} rows"
