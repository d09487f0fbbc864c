"""Where the time of a block goes: functions of the product are wrapped from outside, the product knows nothing of it."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.commits import CommitStore
from dwh_assets.engine import attempt, loop, stage, tick
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.processors.processor import Processor

POINTS: dict[str, tuple[Any, str]] = {
    "tick": (Loop, "tick"),
    "observe": (tick, "observe"),
    "plan": (tick, "plan"),
    "attempt": (loop, "attempt"),
    "claim": (ClaimStore, "claim"),
    "session": (Engine, "session"),
    "fork": (stage, "fork"),
    "snapshots": (stage, "_reading"),
    "note": (ClaimStore, "note_staging"),
    "write": (stage, "_write"),
    "spark": (Processor, "write"),
    "fingerprint": (stage, "_fingerprint"),
    "staged": (stage, "staged"),
    "check": (attempt, "check"),
    "publish": (attempt, "next_metadata"),
    "commit": (CommitStore, "commit"),
    "sweep": (attempt, "sweep"),
}


@dataclass
class Stopwatch:
    """Seconds of every call, by the name of the point."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # the moment when each call ended

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                ended = time.perf_counter()
                self.seconds[name].append(ended - began)
                self.ends[name].append(ended)

        return timed

    def total(self, *names: str) -> float:
        return sum(sum(self.seconds[name]) for name in names)

    def medians(self) -> dict[str, float]:
        return {name: median(found) for name, found in self.seconds.items() if found}


@contextmanager
def watching() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    originals = {name: getattr(*place) for name, place in POINTS.items()}
    for name, (owner, attribute) in POINTS.items():
        setattr(owner, attribute, watch.wrap(name, originals[name]))
    try:
        yield watch
    finally:
        for name, (owner, attribute) in POINTS.items():
            setattr(owner, attribute, originals[name])


def seconds_of(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def nearest_rank(taken: Sequence[float], percent: int) -> float:
    """The least of them that so many in a hundred do not exceed: always one that was seen."""
    return sorted(taken)[math.ceil(len(taken) * percent / 100) - 1]
