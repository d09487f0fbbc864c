"""Run measurements in a home of the bench's own and print what they found, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from bench import dagster, drain, evaluation, ingest, load, overhead, planning, reports, streaming, verdicts, workers
from bench.result import Result, as_table
from bench.scale import Scale, scale_of
from bench.world import World
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.engine.engine import open_engine
from dwh_assets.model.errors import ConfigError

MEASUREMENTS: dict[str, Callable[[World], list[Result]]] = {
    "verdicts": verdicts.measure,
    "planning": planning.measure,
    "evaluation": evaluation.measure,
    "reports": reports.measure,
    "load": load.measure,
    "overhead": overhead.measure,
    "drain": drain.measure,
    "streaming": streaming.measure,
    "definitions": dagster.definitions_of_many,
    "restatement": dagster.restatement,
    "tick": dagster.ticks,
    "ingest": ingest.measure,
    "workers": workers.measure,
}
OF = {
    "claims": "verdicts",
    "vocabularies": "reports",
    "statistics": "drain",
    "window": "ingest",
    "latency": "ingest",
}  # measured together with another one
WITH = {"workers": {"tick"}}  # figures of another one that belong into the same run
WITHOUT_SPARK = {"definitions", "verdicts", "planning", "evaluation", "reports", "load"}


def main(names: Sequence[str] = (), rows: int = Scale.rows, json_path: Path | None = None, keep: bool = False) -> int:
    """Measure all, or what is named. Returns 0 if every figure was reached, else 1."""
    chosen = measurements_of(names)
    began = _machine()
    console = Console()
    results: list[Result] = []
    with _home(keep) as home, _world(home, scale_of(rows), spark=not chosen <= WITHOUT_SPARK) as world:
        for name in (name for name in MEASUREMENTS if name in chosen):
            with console.status(f"measuring {name}"):
                results += MEASUREMENTS[name](world)
    console.print(as_table(results))
    found = {"began": began, "ended": _machine(), "results": [result.as_dict() for result in results]}
    console.print(f"{began['at']}, {began['cores']} cores, load {began['load']} before and {found['ended']['load']} after")
    if json_path is not None:
        json_path.write_text(json.dumps(found, indent=2, default=str) + "\n")
    return 0 if all(result.reached for result in results) else 1


def measurements_of(names: Sequence[str]) -> set[str]:
    known = [*MEASUREMENTS, *OF]
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"there is no measurement {unknown[0]}; there are {', '.join(known)}.")
    chosen = {OF.get(name, name) for name in names}
    return chosen.union(*(WITH.get(name, ()) for name in chosen)) or set(MEASUREMENTS)


def _machine() -> dict[str, Any]:
    return {
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        "load": [round(load, 1) for load in os.getloadavg()],
    }


@contextmanager
def _home(keep: bool) -> Iterator[Path]:
    """A folder that is removed at the end, except if it is to be kept."""
    named = os.environ.get("DWH_BENCH_HOME")
    home = Path(named).absolute() if named else Path(tempfile.mkdtemp(prefix="dwh-bench-"))
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o755)  # Postgres runs as another user where we are root
    try:
        yield home
    finally:
        if not keep:
            shutil.rmtree(home)


@contextmanager
def _world(home: Path, scale: Scale, spark: bool) -> Iterator[World]:
    # Nothing of the user's own warehouse: neither its control store nor its Spark.
    own: dict[str, Any] = {"postgres_url": None, "spark_remote": None, "warehouse": None, "spark_memory": "8g"}
    settings: Settings = load_settings(home=home, project=home, **own)
    try:
        with open_engine(settings) as engine:
            try:
                if spark:
                    engine.spark.start()
                    engine.spark.warm()
                yield World(engine, scale)
            finally:
                engine.spark.stop()
    finally:
        EmbeddedPostgres(home).stop()
