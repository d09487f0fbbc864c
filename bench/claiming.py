"""Claiming topics, one by one or as sets, by one process or several; without Spark's libraries, so that a process starts soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import psutil

from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.database import Database
from dwh_assets.model.block import Claim

WARM = 12  # topics that warm a connection: a statement is prepared by its sixth execution
PATIENCE = 120  # seconds to wait for the other processes


@dataclass(frozen=True)
class Claiming:
    """What was claimed, from when to when by the clock of the machine, and the processor seconds that it took."""

    claims: int
    began: float
    ended: float
    in_postgres: float
    in_python: float

    @property
    def processor_ms(self) -> dict[str, float]:
        return {"Postgres": 1000 * self.in_postgres / self.claims, "Python": 1000 * self.in_python / self.claims}


def rate(parts: Sequence[Claiming]) -> float:
    """Claims in a second, from the first beginning to the last end: parts that did not run at once gain nothing by it."""
    return sum(part.claims for part in parts) / (max(part.ended for part in parts) - min(part.began for part in parts))


def claim_all(url: str, topics: Sequence[str], batch: int, ready: Callable[[], Any] = lambda: None) -> Claiming:
    """Claim these topics, so many at once; the first few only warm the connection, before `ready`."""
    database = Database(url, size=1)
    try:
        claims = ClaimStore(database, "bench", 600)
        server = backend(database)
        size = min(batch, 2)
        for start in range(0, WARM, size):
            _claim(claims, topics[start : start + size])
        ready()
        began = time.perf_counter(), busy(server), time.process_time()
        for start in range(WARM, len(topics), batch):
            _claim(claims, topics[start : start + batch])
        ended = time.perf_counter(), busy(server), time.process_time()
        return Claiming(len(topics) - WARM, began[0], ended[0], ended[1] - began[1], ended[2] - began[2])
    finally:
        database.close()


def claim_together(url: str, parts: Sequence[Sequence[str]], batch: int) -> list[Claiming]:
    """Each part by a process of its own; they begin at the same moment."""
    context = get_context("spawn")
    barrier, found = context.Barrier(len(parts), timeout=PATIENCE), context.Queue()
    processes = [context.Process(target=_claim_and_tell, args=(url, part, batch, barrier, found)) for part in parts]
    for process in processes:
        process.start()
    results = [found.get(timeout=2 * PATIENCE) for _ in processes]
    for process in processes:
        process.join()
    return results


def _claim_and_tell(url: str, topics: Sequence[str], batch: int, barrier: Any, found: Any) -> None:
    found.put(claim_all(url, topics, batch, barrier.wait))


def _claim(claims: ClaimStore, topics: Sequence[str]) -> None:
    if len(topics) == 1:
        claims.claim(topics[0])
        return
    outcomes = claims.claim_many(topics)
    missed = [outcome for outcome in outcomes.values() if not isinstance(outcome, Claim)]
    if missed or len(outcomes) != len(topics):
        raise AssertionError(f"{len(missed)} of {len(topics)} topics were not claimed: {missed[:1]}")


def backend(database: Database) -> psutil.Process:
    """The process of the server that serves the one connection of this database."""
    return psutil.Process(database.fetch("select pg_backend_pid() as pid")[0]["pid"])


def busy(process: psutil.Process) -> float:
    """Processor seconds that it has used so far."""
    times = process.cpu_times()
    return times.user + times.system
