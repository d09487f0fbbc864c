"""The loop that drives the way of a block without Dagster: tick, then load what is due, a few topics side by side."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from dwh_assets.engine.alerts import AlertRounds, alert_round
from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.audit_rounds import AuditRounds
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.late import find_overlooked_rows
from dwh_assets.engine.sweep import sweep
from dwh_assets.engine.tick import tick
from dwh_assets.engine.turn import rank, turn
from dwh_assets.model.errors import DwhError, Transient
from dwh_assets.model.module import Lineage

logger = logging.getLogger(__name__)
Row = dict[str, Any]
SWEEP_SECONDS = 60.0


@dataclass
class Loop:
    """Drives topics until told to stop, or until nothing more can be loaded now."""

    engine: Engine
    topics: frozenset[str] | None = None  # None: all
    report: Callable[[Outcome], None] = lambda outcome: None
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._swept = 0.0
        self._looked_after = 0  # so many blocks, for rows that belong to none
        self.audits = AuditRounds(self.engine, lambda: self._crowded)
        self._lineage = Lineage((), ())
        self._crowded = False  # topics are due that have no slot
        self._setbacks: dict[str, float] = {}  # topic -> since when its attempts fail because something is away
        self._ended: SimpleQueue[Outcome | str] = SimpleQueue()  # an attempt that ended, or the topic that left its slot

    def run(self, until_dry: bool = False) -> int:
        """Returns how many blocks were committed."""
        with AlertRounds(self.engine) as alerts, self.audits:
            committed = self._drive(until_dry, alerts)
        if until_dry:
            alert_round(self.engine)  # no later round would tell of the last blocks
        return committed

    def _drive(self, until_dry: bool, alerts: AlertRounds) -> int:
        committed, away = 0, None
        with ThreadPoolExecutor(self.engine.settings.slots, thread_name_prefix="slot") as pool:
            running: dict[str, Future[None]] = {}
            while not self.stop.is_set():
                try:
                    self._lineage, due = self.tick()
                except Transient as error:
                    logger.warning("tick: %s", error)
                    away = away or time.monotonic()
                    if until_dry and not self._is_recent(away):
                        raise
                    self.stop.wait(self.engine.settings.tick_seconds)
                    continue
                away = None
                alerts.begin_if_due()
                self._start(pool, running, due)
                rests = not running and not due and not any(map(self._is_recent, self._setbacks.values()))
                if until_dry and rests and not self._finds_more(committed):
                    return committed
                committed += self._collect(running)
            wait(running.values())
            committed += self._collect(running)
        return committed

    def _is_recent(self, since: float) -> bool:
        """What is away is waited for as long as the deadline by a loop that is to end."""
        return time.monotonic() - since < self.engine.settings.deadline_seconds

    def _finds_more(self, committed: int) -> bool:
        """Rows that came behind a block while it waited or ran lie below what its topic was searched to, so that no tick plans
        them; the sweep that began this run could not tell them from the rows of that block. They are not left to the next run."""
        if committed == self._looked_after:
            return False
        try:
            found = find_overlooked_rows(self.engine, self._lineage)
        except Transient as error:
            logger.warning("rows beyond the cursors could not be looked for: %s", error)
            return True  # the next tick waits for what is away
        self._looked_after = committed
        return bool(found)

    def tick(self) -> tuple[Lineage, list[Row]]:
        """Observe, decide, plan; returns the Lineage in force and the topics that are due."""
        self._sweep()  # first: what it finds is planned at once, also by a loop that ends when nothing is due
        now = tick(self.engine, lambda row: self.topics is None or row["topic"] in self.topics)
        self.audits.begin_if_due(now.lineage)
        return now.lineage, now.due

    def _start(self, pool: ThreadPoolExecutor, running: dict[str, Future[None]], due: list[Row]) -> None:
        """Fill the free slots, the topic that has waited longest first; each step of its priority counts as a minute."""
        free = self.engine.settings.slots - len(running)
        waiting = sorted((row for row in due if row["topic"] not in running), key=rank)
        self._crowded = len(waiting) > free
        for row in waiting[:free]:
            running[row["topic"]] = pool.submit(self._work_off, row["topic"])

    def _work_off(self, topic: str) -> None:
        """Without a tick between its blocks."""
        outcomes = turn(lambda: self._attempt(self._lineage, topic), lambda: self._crowded or self.stop.is_set())
        for number, outcome in enumerate(outcomes):
            if number == 0 or outcome.result != "idle":
                self._ended.put(outcome)
        self._ended.put(topic)

    def _attempt(self, lineage: Lineage, topic: str) -> Outcome:
        """One bad topic stalls no other: whatever its attempt raises ends here, in the log."""
        try:
            return attempt(self.engine, lineage, topic)
        except DwhError as error:
            logger.warning("topic %s: %s", topic, error)
            return Outcome("failed", topic, str(error))
        except Exception as error:
            logger.exception("topic %s", topic)
            return Outcome("failed", topic, f"{type(error).__name__}: {error}")

    def _collect(self, running: dict[str, Future[None]]) -> int:
        """Wait for the first attempt to end, at most one tick; report those that ended, and free the slots that were left."""
        if not running:
            self.stop.wait(self.engine.settings.tick_seconds)
            return 0
        committed = 0
        for ended in self._all_ended():
            if isinstance(ended, str):
                running.pop(ended).result()
                continue
            committed += ended.result == "committed"
            if ended.transient:
                self._setbacks.setdefault(ended.topic, time.monotonic())
            else:
                self._setbacks.pop(ended.topic, None)
            self.report(ended)
        return committed

    def _all_ended(self) -> Iterator[Outcome | str]:
        try:
            yield self._ended.get(timeout=self.engine.settings.tick_seconds)
        except Empty:
            return
        while not self._ended.empty():
            yield self._ended.get()

    def _sweep(self) -> None:
        """Now and then."""
        if time.monotonic() - self._swept < SWEEP_SECONDS:
            return
        first, self._swept = not self._swept, time.monotonic()
        # Columns cost a look by Spark: a loop that has just begun has better things to do.
        sweep(self.engine, self.engine.lineage.active(), columns=not first)
