"""Warm workers: from a request to its start; many topics with small blocks: blocks a second, and how evenly they are shared."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from bench.dagster import append_rows, put_in_force, variables_of, wait_for
from bench.result import Result
from bench.stopwatch import nearest_rank
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
MARK_SECONDS = 3600.0  # until every worker has loaded as many blocks as its memory is compared after
STARTS = """select extract(epoch from a.started_at - r.asked_at)::float8 as seconds
from dwh.assignment a join dwh.request r on r.id = a.request_id where a.started_at is not null and r.asked_at > %(after)s"""
LOADED = """select t.name, count(e.id) filter (where e.execution_code = 'Succeeded') as blocks,
       count(e.id) filter (where e.execution_code not in ('Succeeded', 'Executing')) as failed
from dwh.topic t left join dwh.execution e on e.topic_id = t.id and e.ended_at > %(after)s
where t.name like 'crew.%%' group by t.name"""
REFUSED = """select count(*) as failed from dwh.assignment a join dwh.request r on r.id = a.request_id
where r.asked_at > %(after)s and (a.status = 'FAILED' or r.problem is not null)"""
BEGUN = "select from dwh.worker where started_at > %(after)s"
BY_WORKER = """select worker, count(*) as blocks from dwh.execution
where execution_code = 'Succeeded' and ended_at > %(after)s group by worker"""


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
    for number in range(world.scale.dispatches):
        dispatch.ask(KIND, f"crew.none_{number}")
        wait_for(lambda: None if engine.database.fetch("select 1 from dwh.request where ended_at is null") else True)
    seconds = [row["seconds"] for row in engine.database.fetch(STARTS, after=after)]
    worst = nearest_rank(seconds, 99)
    parts = {"p50 s": nearest_rank(seconds, 50), "p99 s": worst, "most s": max(seconds), "requests": len(seconds)}
    return Result("dispatch", "a request to its start, 99 of 100", worst, "s", "<=", 0.5, parts)


@dataclass
class Memory:
    """What each worker used when it had loaded so many blocks, by its process."""

    world: World
    supervisor: Supervisor
    after: datetime
    used: dict[int, dict[int, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.used = {child.popen.pid: {} for child in self.supervisor.children.values()}

    def look(self) -> None:
        if self.world.engine.database.fetch(BEGUN, after=self.after):
            raise AssertionError("a worker was started again meanwhile: its memory says nothing of the blocks before")
        for row in self.world.engine.database.fetch(BY_WORKER, after=self.after):
            pid = int(row["worker"].split("-")[-2])  # host, process, a random end
            for mark in self.world.scale.crew_marks:
                if row["blocks"] >= mark:
                    self.used[pid].setdefault(mark, psutil.Process(pid).memory_info().rss / 2**20)

    @property
    def complete(self) -> bool:
        return all(len(marks) == len(self.world.scale.crew_marks) for marks in self.used.values())

    def result(self) -> Result:
        early, late = self.world.scale.crew_marks
        if not self.complete:
            raise AssertionError(f"no {late} blocks of each worker within {MARK_SECONDS:.0f} s: {self.used}")
        grown = max(marks[late] / marks[early] for marks in self.used.values())
        what = f"a worker's memory after {late} blocks / after {early}, the one that grew most"
        return Result("crew_memory", what, grown, "x", "<=", 1.1, {"MB by worker and blocks": self.used})


def _shared(world: World, supervisor: Supervisor) -> list[Result]:
    """All topics have more to load than there is time for; then on, until the memory of every worker is known."""
    database, stop = world.engine.database, threading.Event()
    after, began = database.clock(), time.monotonic()
    memory = Memory(world, supervisor, after)
    with asking(world.engine, stop):
        _look_until(memory, lambda: time.monotonic() - began > world.scale.crew_seconds)
        rows, seconds = database.fetch(LOADED, after=after), time.monotonic() - began
        _look_until(memory, lambda: memory.complete or time.monotonic() - began > MARK_SECONDS)
        failed = sum(row["failed"] for row in database.fetch(LOADED, after=after))
        refused = database.fetch(REFUSED, after=after)[0]["failed"]
    return [*shared_results(rows, seconds, failed, refused), memory.result()]


def _look_until(memory: Memory, over: Callable[[], bool]) -> None:
    while not over():
        memory.look()
        time.sleep(0.2)


def shared_results(rows: list[dict[str, Any]], seconds: float, failed: int, refused: int) -> list[Result]:
    blocks = [row["blocks"] for row in rows]
    least, most = min(blocks), max(blocks)
    uneven = most / least if least else math.inf  # a topic that got nothing is as uneven as it can be
    parts = {"blocks": sum(blocks), "seconds": seconds, "blocks/s": sum(blocks) / seconds, "least": least, "most": most}
    errors = {"attempts": failed, "requests": refused}
    return [
        Result("crew", f"{len(rows)} topics, small blocks: most / least blocks of a topic", uneven, "x", "<=", 2, parts),
        Result("crew_errors", "attempts and requests that failed or were aborted", failed + refused, "", "<=", 0, errors),
    ]


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
