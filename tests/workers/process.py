"""A real worker process for the tests: the real bus and the real loop of a worker, and a handler that tests hold up by files."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.workers.bus import open_bus
from dwh_assets.workers.job import Job
from dwh_assets.workers.worker import Worker
from tests.workers.silence import LONG

IDLE = 5.0  # a test may stop a process in the middle of a transaction: its locks are free after so many seconds
SETTINGS = load_settings(beat_seconds=0.1, silence_seconds=LONG, expiry_seconds=LONG)


def main(url: str, folder: Path) -> None:
    logging.basicConfig(level=logging.INFO)
    database = Database(url, deadline=5, idle=IDLE)
    handlers = {"gate": lambda job: gate(folder, job)}
    worker = Worker(database, open_bus(database, SETTINGS), handlers, SETTINGS, lambda: outdated(folder))
    (folder / f"{os.getpid()}.id").write_text(str(worker.id))
    code = 0 if worker.work() else 7
    database.close()
    sys.exit(code)


def outdated(folder: Path) -> str | None:
    return "a test" if (folder / "outdated").exists() else None


def gate(folder: Path, job: Job) -> None:
    """Leave a mark, wait while the gate of this name is shut, leave another."""
    mark(folder, job, "begun")
    try:
        while (folder / f"{job.name}.shut").exists():
            time.sleep(0.01)
        if (folder / f"{job.name}.bad").exists():
            raise ValueError("bad rows")
        mark(folder, job, "done")
    except KeyboardInterrupt:
        mark(folder, job, "interrupted")
        raise


def mark(folder: Path, job: Job, what: str) -> None:
    with (folder / "marks").open("a") as file:
        file.write(f"{job.name} {what} {os.getpid()}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
