"""How far the Spark jobs of a session are, by Spark's own count, while they go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql.connect.session import SparkSession
from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

Told = Callable[[int, int], None]  # tasks, and how many of them are done
EVERY = 1.0  # seconds between two tellings


class _Counting(ProgressHandler):
    """All jobs of the session count together: a merge has several."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._counts: dict[str | None, tuple[int, int]] = {}
        self._last = time.monotonic()

    def __call__(self, stages: Iterable[StageInfo] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        listed = list(stages or ())
        self._counts[operation_id] = (sum(s.num_tasks for s in listed), sum(s.num_completed_tasks for s in listed))
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self._told(sum(tasks for tasks, _ in self._counts.values()), sum(ended for _, ended in self._counts.values()))


@contextmanager
def counting_tasks(session: SparkSession, told: Told) -> Iterator[None]:
    handler = _Counting(told)
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)
