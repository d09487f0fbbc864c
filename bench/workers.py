"""Warm workers: from a request to its start; many topics with small blocks: blocks a second, and how evenly they are shared."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil

from bench.dagster import append_rows, put_in_force, variables_of, wait_for
from bench.result import Result
from bench.world import World
from dwh_assets.cli.supervising import Supervisor
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.orchestration.processes import worker_processes
from dwh_assets.workers.bus import PostgresBus
from dwh_assets.workers.loop import asking
from dwh_assets.workers.manager import Dispatch
from dwh_assets.workers.topics import KIND

WORKERS = 2
BASE = "stage.shared"
EARLY, LATE = 50, 500  # blocks after which a worker's memory is compared
STARTS = """select extract(epoch from a.started_at - r.asked_at)::float8 as seconds
from dwh.assignment a join dwh.request r on r.id = a.request_id where a.started_at is not null and r.asked_at > %(after)s"""
LOADED = """select t.name, count(e.id) filter (where e.execution_code = 'Succeeded') as blocks,
       count(e.id) filter (where e.execution_code = 'Failed') as failed
from dwh.topic t left join dwh.execution e on e.topic_id = t.id and e.ended_at > %(after)s
where t.name like 'crew.%%' group by t.name"""


def measure(world: World) -> list[Result]:
    lineage = _lineage(world)
    put_in_force(world, lineage)
    append_rows(world, BASE, world.scale.crew_blocks)
    with _workers(world) as supervisor:
        return [_dispatch(world), *_shared(world, supervisor)]


def _dispatch(world: World) -> Result:
    """Requests one after the other, each when a worker is idle: what lies between being asked for and being begun."""
    engine = world.engine
    dispatch = Dispatch(engine.database, PostgresBus(engine.database), engine.settings)
    after = engine.database.clock()
    for number in range(max(2, world.scale.repeats)):
        dispatch.ask(KIND, f"crew.none_{number}")
        wait_for(lambda: None if engine.database.fetch("select 1 from dwh.request where ended_at is null") else True)
    seconds = [row["seconds"] for row in engine.database.fetch(STARTS, after=after)]
    cuts = quantiles(seconds, n=100)
    parts = {"p50 s": cuts[49], "p99 s": cuts[98], "requests": len(seconds)}
    return Result("dispatch", "a request to its start, 99 of 100", cuts[98], "s", "<=", 0.5, parts)


@dataclass(frozen=True)
class Memory:
    """What the workers use, together."""

    supervisor: Supervisor

    def megabytes(self) -> float:
        return sum(psutil.Process(child.popen.pid).memory_info().rss for child in self.supervisor.children.values()) / 2**20


def _shared(world: World, supervisor: Supervisor) -> list[Result]:
    """All topics have more to load than there is time for."""
    database, memory, stop = world.engine.database, Memory(supervisor), threading.Event()
    after, began = database.clock(), time.monotonic()
    used: dict[int, float] = {}
    with asking(world.engine, stop):
        while time.monotonic() - began < world.scale.crew_seconds:
            time.sleep(0.2)
            blocks = sum(row["blocks"] for row in database.fetch(LOADED, after=after))
            for mark in (EARLY, LATE):
                if blocks >= mark * WORKERS:
                    used.setdefault(mark, memory.megabytes())
    rows = database.fetch(LOADED, after=after)
    return _results(rows, time.monotonic() - began, used, memory.megabytes())


def _results(rows: list[dict[str, Any]], seconds: float, used: dict[int, float], now: float) -> list[Result]:
    blocks = [row["blocks"] for row in rows]
    uneven = max(blocks) / max(1, min(blocks))
    failed = sum(row["failed"] for row in rows)
    parts = {"blocks": sum(blocks), "seconds": seconds, "blocks/s": sum(blocks) / seconds, "failed": failed}
    early = used.get(EARLY, now)
    what = f"a worker's memory after {LATE if LATE in used else 'fewer than ' + str(LATE)} blocks / after {EARLY}"
    return [
        Result("crew", f"{len(rows)} topics, small blocks: most / least blocks of a topic", uneven, "x", "<=", 2, parts),
        Result("crew_errors", "attempts that failed meanwhile", failed, "", "<=", 0, parts),
        Result("crew_memory", what, used.get(LATE, now) / early, "x", "<=", 1.1, {"MB": used | {0: now}}),
    ]  # fmt: skip


def _lineage(world: World) -> Lineage:
    """Tables over one source, each due as soon as it has a block of one row."""
    file = world.engine.settings.transforms_folder / "bench" / "rows.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("select pos, id, v from {{ block }}")
    fields: dict[str, Any] = {
        "transforms": ("bench/rows.sql",),
        "maxstep": 1,
        "stretch": 1,
        "repeat": timedelta(),
        "area": "crew",
    }
    names = [f"crew.t{number}" for number in range(world.scale.crew_topics)]
    return Lineage(tuple(Module(name, name, (BASE,), **fields) for name in names), (SourceTable(BASE, "iceberg"),))


@contextmanager
def _workers(world: World) -> Iterator[Supervisor]:
    settings = world.engine.settings.model_copy(update={"slots": WORKERS})
    variables = variables_of(world)
    supervisor = Supervisor(
        settings.home, worker_processes(settings, variables, "--no-dagster"), Path(__file__).parents[1], "workers"
    )
    with supervisor.running(threading.Event()):
        wait_for(lambda: True if _online(world) == WORKERS else None)
        yield supervisor


def _online(world: World) -> int:
    return len(world.engine.database.fetch("select from ems.etl_instances where status = 'online'"))
