"""Draining a backlog by blocks, through the engine, against one plain Spark INSERT-SELECT of the same query."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.result import Result
from bench.stopwatch import Stopwatch, seconds_of, watching
from bench.world import World
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.loop import Loop

ROUNDS = 2


@dataclass(frozen=True)
class Drain:
    """One backlog, drained."""

    seconds: float
    outcomes: list[Outcome]
    watch: Stopwatch

    def blocks(self) -> list[dict[str, Any]]:
        return [{"rows": done.rows, "s": round(done.seconds, 2)} for done in self.outcomes if done.result == "committed"]


def drained(world: World, target: str, rows: int, maxstep: int, stretch: int = 16) -> Drain:
    """Load a backlog to its end by the loop, and see that every row came through."""
    events = world.events(rows)
    world.module(target, events, maxstep, stretch)
    outcomes: list[Outcome] = []
    with watching() as watch:
        loop = Loop(world.engine, topics=frozenset({target}), report=outcomes.append)
        seconds = seconds_of(lambda: loop.run(until_dry=True))
    if (found := world.count(target)) != rows:
        raise AssertionError(f"{target} has {found} rows, not {rows}: {[o.text for o in outcomes if o.result != 'committed']}")
    return Drain(seconds, outcomes, watch)


def plain(world: World, table: str, rows: int) -> float:
    """One INSERT-SELECT into an empty table of the same kind."""
    events = world.events(rows)
    world.plain_table(table, events)
    return seconds_of(lambda: world.session.sql(f"INSERT INTO dwh.{table} {world.plain_query(events)}").collect())


def warm_up(world: World) -> None:
    """Both ways once with few rows, so that neither pays for loading classes."""
    rows = min(world.scale.rows, 500_000)
    plain(world, "plain.warm", rows)
    drained(world, "fact.warm", rows, max(rows // 3, 1))


def measure(world: World) -> list[Result]:
    rows, maxstep = world.scale.rows, world.scale.maxstep
    world.events(rows)
    warm_up(world)
    plains, drains = [plain(world, "plain.round_0", rows)], list[Drain]()
    for number in range(1, ROUNDS + 1):  # in turns: the machine's own speed goes up and down by a tenth
        drains.append(drained(world, f"fact.drained_{number}", rows, maxstep))
        plains.append(plain(world, f"plain.round_{number}", rows))
    seconds = median(drain.seconds for drain in drains)
    parts = {
        "rows": rows,
        "plain s": plains,
        "drain s": [drain.seconds for drain in drains],
        "plain rows/s": rows / median(plains),
        "drain rows/s": rows / seconds,
        "blocks": [drain.blocks() for drain in drains],
        "in ticks s": [drain.watch.total("tick") for drain in drains],
    }
    what = "speed of draining a backlog by blocks / of one plain INSERT-SELECT"
    return [Result("drain", what, median(plains) / seconds, "x", ">=", 0.9, parts), _statistics(world, drains[-1])]


def _statistics(world: World, drain: Drain) -> Result:
    """Row and null statistics, checks and the fingerprint, as a share of the load."""
    alone = _fingerprints_alone(world, drain)
    cores = len(os.sched_getaffinity(0))
    looked = drain.watch.total("staged", "check")
    load = sum(done.seconds for done in drain.outcomes)
    parts = {
        "load s": load,
        "from manifests s": looked,
        "fingerprint beside Spark s": drain.watch.total("fingerprint"),
        "fingerprint alone s": alone["wall"],
        "its processor time s": alone["cpu"],
        "cores": cores,
    }
    share = 100 * (looked + alone["cpu"] / cores) / load
    return Result("statistics", "row and null statistics and fingerprint / load", share, "%", "<=", 2.0, parts)


def _fingerprints_alone(world: World, drain: Drain) -> dict[str, float]:
    """The same fingerprints again with nothing beside them: what they take away from Spark on a busy machine."""
    source = world.engine.source(world.events(world.scale.rows), world.engine.lineage.active())
    blocks = [done.claim.block for done in drain.outcomes if done.claim is not None]
    wall, cpu = time.perf_counter(), time.process_time()
    for block in blocks:
        source.fingerprint(block.bounds, source.snapshot())
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
