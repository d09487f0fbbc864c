"""Batches: groups of modules that are run as a job, and modules that are no tables but commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from dwh_assets.model.parameter import Parameter
from dwh_assets.model.window import Window

BatchKind = Literal["STANDARD", "MAINTENANCE"]


@dataclass(frozen=True)
class Link:
    """A module or a batch as part of a batch. An inactive one is passed over."""

    name: str
    active: bool = True


@dataclass(frozen=True)
class Batch:
    """STANDARD runs its modules in the order of their dependencies, side by side, and goes on after a failure; MAINTENANCE runs
    them in the order of its list and stops at the first failure. The batches in it come first, in their order."""

    name: str
    modules: tuple[Link, ...] = ()
    batches: tuple[Link, ...] = ()
    kind: BatchKind = "STANDARD"
    description: str = ""
    frequency: str | None = None  # a cron expression; none: only when it is asked for
    timezone: str = "UTC"
    time: Window | None = None
    after: tuple[str, ...] = ()  # batches whose success starts this one
    retries: int = 3  # attempts in all at a module
    parameters: tuple[Parameter, ...] = ()
    active: bool = True


@dataclass(frozen=True)
class Command:
    """A script or a function that is run as a module of a batch: evaluated, leased and recorded like the others."""

    name: str
    kind: Literal["command", "python"]
    run: tuple[str, ...]  # the words of the command, or one `package.module:function`
    area: str = ""
    description: str = ""
    owner: str | None = None
    depends_on: tuple[str, ...] = ()  # modules of the same batch that come first
    timeout: timedelta = timedelta(hours=1)
    active: bool = True


def cycle_of(batches: tuple[Batch, ...]) -> tuple[str, ...] | None:
    """A line of batches that contain or follow one another back to the first; None where there is no such line."""
    edges = {batch.name: (*(link.name for link in batch.batches), *batch.after) for batch in batches}
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        if name in path:
            return (*path[path.index(name) :], name)
        if name in done:
            return None
        found = next((c for c in (walk(other, (*path, name)) for other in edges.get(name, ())) if c), None)
        done.add(name)
        return found

    return next((cycle for cycle in (walk(name, ()) for name in sorted(edges)) if cycle), None)
