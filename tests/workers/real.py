"""Real `dwh worker` processes, what is asked of them, and what became of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from dwh_assets.control.assignments import RequestStore
from dwh_assets.engine.engine import Engine
from dwh_assets.workers.bus import PostgresBus
from dwh_assets.workers.manager import Dispatch
from dwh_assets.workers.topics import KIND
from tests.engine.project import Project, rows
from tests.faults.nursery import eventually

REPOSITORY = Path(__file__).parents[2]
DWH = (sys.executable, "-m", "dwh_assets.cli")
TOPIC = "fact.rows"


def ready(project: Project, count: int = 5, **fields: Any) -> None:
    project.source("src.rows")
    project.append("src.rows", rows(0, count))
    project.module(TOPIC, "src.rows", **fields)
    project.apply()
    project.tick()


@contextmanager
def worker_on(engine: Engine, home: Path, dwh: tuple[str, ...] = DWH, /, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real `dwh worker` on the warehouse of the engine, in a home of its own, once it is ready."""
    environment = {
        "DWH_HOME": str(home), "DWH_PROJECT": str(engine.settings.project), "DWH_POSTGRES_URL": engine.postgres_url,
        "DWH_SPARK_REMOTE": engine.spark.start(), "DWH_WAREHOUSE": engine.settings.warehouse_root,
        "PYTHONPATH": str(REPOSITORY), "DWH_LEASE_SECONDS": "10",
    }  # fmt: skip
    command = [*dwh, "worker", "--no-dagster"]
    home.mkdir(parents=True, exist_ok=True)
    with (home / "worker.log").open("ab") as log:
        process = subprocess.Popen(command, env=os.environ | environment | variables, stdout=log, stderr=log)
    try:
        known = "select 1 from dwh.worker where pid = %(pid)s"
        eventually(lambda: engine.database.fetch_one(known, pid=process.pid), f"worker {process.pid} is ready", 120)
        yield process
    finally:
        process.kill()
        process.wait()


def worker(project: Project, dwh: tuple[str, ...] = DWH, /, **variables: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return worker_on(project.engine, project.engine.settings.home, dwh, **variables)


def ask(project: Project) -> Dispatch:
    settings, database = project.engine.settings, project.engine.database
    dispatch = Dispatch(database, PostgresBus(database), settings)
    dispatch.ask(KIND, TOPIC, TOPIC)
    return dispatch


def ended(project: Project) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        state = RequestStore(project.engine.database).state(KIND, TOPIC)
        return state if state is not None and state["ended_at"] is not None else None

    return eventually(look, "the request ends")
