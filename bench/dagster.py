"""What Dagster adds: from a sensor's tick to a loaded block, here and on stock settings; definitions; a large restatement."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TypeVar

import pyarrow as pa
from dagster import DagsterInstance
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from pyiceberg.io.pyarrow import schema_to_pyarrow

from bench.result import Result
from bench.stopwatch import seconds_of
from bench.world import World
from dwh_assets.cli.supervising import Supervisor
from dwh_assets.config.machine import free_port
from dwh_assets.engine.apply import apply
from dwh_assets.engine.loop import Loop
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.orchestration.graph import definitions
from dwh_assets.orchestration.instance import prepare_home
from dwh_assets.orchestration.names import module_key
from dwh_assets.orchestration.partitions import sync_module
from dwh_assets.orchestration.processes import Process, dagster_processes
from dwh_assets.orchestration.project import Project, using

Found = TypeVar("Found")
DEADLINE = 300.0
ROWS = pa.schema([("pos", pa.timestamp("us", tz="UTC")), ("id", pa.int64()), ("v", pa.int64())])
TRANSFORM = "select pos, id, v from {{ block }}"


def definitions_of_many(world: World) -> list[Result]:
    """All definitions of so many modules, made and resolved, as a code server does it."""
    lineage = _lineage(world, world.scale.defined, "many")
    project = Project(lineage, world.engine.settings, "the bench")
    seconds = [seconds_of(lambda: definitions(project).get_repository_def()) for _ in range(3)]
    what = f"definitions of {world.scale.defined} modules"
    return [Result("definitions", what, median(seconds), "s", "<=", 2.0, {"each s": seconds})]


def restatement(world: World) -> list[Result]:
    """All blocks of a table as one run, and a few of them as a run each."""
    blocks, few = world.scale.restated, min(20, world.scale.restated)
    lineage = _lineage(world, 1, "restated", maxstep=1, ahead=blocks)
    module = lineage.modules[0]
    put_in_force(world, lineage)
    append_rows(world, module.base, blocks)
    Loop(world.engine, frozenset(module.topics)).run(until_dry=True)
    with _instance(world) as instance, using(world.engine):
        sync_module(instance, world.engine, module)
        keys = list(instance.get_dynamic_partitions(module.name))
        job = definitions(Project(lineage, world.engine.settings, "the bench")).resolve_implicit_global_asset_job_def()

        def run(first: str, last: str) -> None:
            tags = {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}
            job.execute_in_process(instance=instance, asset_selection=[module_key(module)], tags=tags)

        run(keys[0], keys[0])
        one = seconds_of(lambda: run(keys[0], keys[-1]))
        each = median(seconds_of(lambda key=key: run(key, key)) for key in keys[:few])
    parts = {"one run s": one, "a run of one block s": each, "blocks": len(keys), "measured runs": few}
    what = f"{len(keys)} blocks restated, a run each (extrapolated) / one run"
    return [Result("restatement", what, each * len(keys) / one, "x", ">=", 10, parts)]


def ticks(world: World) -> list[Result]:
    lineage = _lineage(world, world.scale.together, "tick")
    put_in_force(world, lineage)
    _append_all(world, lineage)
    Loop(world.engine).run(until_dry=True)  # the speed of every topic is known, its next blocks are not held back
    with _here(world):
        ours = _Rounds(world, lineage).measure(world.scale.ticks)
    with _stock(world):
        stock = _Rounds(world, lineage).measure(max(1, world.scale.ticks // 3))
    parts = {"here": ours, "stock": stock}
    above = ours["one topic s"] - ours["its attempt s"]
    many = stock["together s"] / ours["together s"]
    return [
        Result("tick", "a sensor's tick to its block done, above the attempt itself", above, "s", "<=", 1.5, parts),
        Result("tick_stock", "the same on stock Dagster / here", stock["one topic s"] / ours["one topic s"], "x", ">=", 3, parts),
        Result("tick_together", f"{world.scale.together} topics in one tick, stock / here", many, "x", ">=", 3, parts),
    ]


class _Rounds:
    """Rows arrive, and are waited for until they are loaded. A round begins with the tick that asked for the runs."""

    def __init__(self, world: World, lineage: Lineage) -> None:
        self._world = world
        self._lineage = lineage

    def measure(self, count: int) -> dict[str, float]:
        self._round(1)  # whatever is loaded on first use
        ones = [self._round(1) for _ in range(count)]
        together = [self._round(self._world.scale.together) for _ in range(count)]
        return {
            "one topic s": median(whole for whole, _ in ones),
            "its attempt s": median(attempt for _, attempt in ones),
            "together s": median(whole for whole, _ in together),
            "rounds": count,
        }

    def _round(self, topics: int) -> tuple[float, float]:
        """From the tick to the last commit, and the longest attempt of the round."""
        modules = self._lineage.modules[:topics]
        began = datetime.now(UTC)
        for module in modules:
            append_rows(self._world, module.base, 5)
        rows = wait_for(lambda: self._ended(began, modules))
        ticked = self._ticked(began)
        last = max(row["ended_at"] for row in rows).timestamp()
        return last - ticked, max((row["ended_at"] - row["started_at"]).total_seconds() for row in rows)

    def _ended(self, began: datetime, modules: Sequence[Module]) -> list[dict[str, datetime]] | None:
        rows = self._world.engine.database.fetch(
            "select t.module, e.started_at, e.ended_at from dwh.execution e join dwh.topic t on t.id = e.topic_id "
            "where e.started_at > %(began)s and e.execution_code = 'Succeeded'",
            began=began,
        )
        return rows if {row["module"] for row in rows} >= {module.name for module in modules} else None

    def _ticked(self, began: datetime) -> float:
        with DagsterInstance.get() as instance:
            states = instance.all_instigator_state()
            ticks = [tick for s in states for tick in instance.get_ticks(s.instigator_origin_id, s.selector_id, limit=50)]
            return min(tick.timestamp for tick in ticks if tick.run_ids and tick.timestamp > began.timestamp())


@contextmanager
def _here(world: World) -> Iterator[None]:
    tree = dagster_processes(world.engine.settings.model_copy(update={"slots": 2}))
    wanted = [process for process in tree.processes if process.name != "webserver"]
    with _environment(DAGSTER_HOME=str(world.engine.settings.home / "dagster"), **variables_of(world)), _running(world, wanted):
        yield


@contextmanager
def _stock(world: World) -> Iterator[None]:
    """Dagster as it comes: its own storage in files, its own launcher and queue."""
    folder, port = world.engine.settings.home / "stock", free_port()
    folder.mkdir(exist_ok=True)
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    workspace = folder / "workspace.yaml"
    workspace.write_text(f"load_from:\n  - grpc_server:\n      host: 127.0.0.1\n      port: {port}\n      location_name: stock\n")
    python, home = sys.executable, {"DAGSTER_HOME": str(folder), **variables_of(world)}
    code = [python, "-m", "dagster", "code-server", "start", "-m", "bench.stock", "-h", "127.0.0.1", "-p", str(port)]
    processes = [
        Process("stock-code-server", code, home, lambda: True),
        Process("stock-daemon", [python, "-m", "dagster._daemon", "run", "-w", str(workspace)], home, lambda: True),
    ]
    with _environment(**home), _running(world, processes):
        yield


def variables_of(world: World) -> dict[str, str]:
    settings = world.engine.settings
    return {
        "DWH_HOME": str(settings.home),
        "DWH_PROJECT": str(settings.project),
        "DWH_POSTGRES_URL": world.engine.postgres_url,
        "DWH_SPARK_REMOTE": world.engine.spark.start(),
        "DWH_WAREHOUSE": settings.warehouse_root,
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }


@contextmanager
def _running(world: World, processes: Sequence[Process]) -> Iterator[None]:
    home = world.engine.settings.home
    with Supervisor(home, processes, Path(__file__).parents[1]).running(threading.Event()):
        yield


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _instance(world: World) -> Iterator[DagsterInstance]:
    with _environment(DAGSTER_EVENT_BATCH_SIZE="1000", **variables_of(world)):
        folder = prepare_home(world.engine.settings)
        with DagsterInstance.from_config(str(folder)) as instance:
            yield instance


def wait_for(look: Callable[[], Found | None]) -> Found:
    until = time.monotonic() + DEADLINE
    while (found := look()) is None:
        if time.monotonic() > until:
            raise TimeoutError(f"nothing was loaded within {DEADLINE:.0f} s")
        time.sleep(0.05)
    return found


def _lineage(world: World, count: int, area: str, maxstep: int = 1000, ahead: int = 20) -> Lineage:
    """Independent tables, each over a source of its own, due as soon as rows are there."""
    file = world.engine.settings.transforms_folder / "bench" / "rows.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TRANSFORM)
    sources = tuple(SourceTable(f"stage.{area}_{n}", "iceberg") for n in range(count))
    modules = tuple(
        Module(
            f"{area}.t{n}",
            f"{area}.t{n}",
            (source.name,),
            area=area,
            transforms=("bench/rows.sql",),
            repeat=timedelta(),
            maxstep=maxstep,
            stretch=1,
            ahead=ahead,
        )
        for n, source in enumerate(sources)
    )
    return Lineage(modules, sources)


def put_in_force(world: World, lineage: Lineage) -> None:
    catalog = world.engine.catalog
    catalog.sql.create_namespace_if_not_exists("stage")
    for source in lineage.sources:
        catalog.sql.create_table_if_not_exists(source.name, ROWS)
    apply(world.engine, lineage, "bench")


def _append_all(world: World, lineage: Lineage) -> None:
    for source in lineage.sources:
        append_rows(world, source.name, 5)


def append_rows(world: World, name: str, count: int) -> None:
    """Rows that are as new as the clock, so that they are newer than all before them."""
    table, now = world.engine.catalog.load(name), time.time_ns() // 1000
    rows = [{"pos": datetime.fromtimestamp((now + n) / 1e6, UTC), "id": now + n, "v": n} for n in range(count)]
    table.append(pa.Table.from_pylist(rows, schema_to_pyarrow(table.schema(), include_field_ids=False)))
