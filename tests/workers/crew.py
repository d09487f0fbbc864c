"""Worker processes of a test, what is asked of them, and what became of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from dwh_assets.control.assignments import RequestStore
from dwh_assets.control.database import Database
from dwh_assets.workers.manager import Dispatch
from tests.faults.nursery import eventually
from tests.workers.lines import Line
from tests.workers.process import SETTINGS
from tests.workers.silence import fall_silent, unheard

Row = dict[str, Any]
REPOSITORY = Path(__file__).parents[2]
SECONDS = 60.0


@dataclass
class Crew:
    database: Database
    line: Line
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.database, self.line.bus, SETTINGS)

    def start(self, count: int = 1) -> list[int]:
        """So many more workers, when the manager knows them."""
        command = [sys.executable, str(Path(__file__).with_name("process.py")), self.database.url, str(self.folder)]
        started = [self._spawn(command) for _ in range(count)]
        for pid in started:
            eventually(lambda pid=pid: self._online(pid), f"worker {pid} is online: {self.log()}", SECONDS)
        return started

    def _spawn(self, command: list[str]) -> int:
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)} | self.line.variables
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stderr=log)
        self.processes.append(process)
        return process.pid

    def _online(self, pid: int) -> bool | None:
        file = self.folder / f"{pid}.id"
        return True if file.exists() and self.worker(UUID(file.read_text() or str(UUID(int=0)))) else None

    def worker(self, id_: UUID) -> Row | None:
        return self.database.fetch_one("select * from dwh.worker where id = %(id)s", id=id_)

    def id_of(self, pid: int) -> UUID:
        return UUID((self.folder / f"{pid}.id").read_text())

    def log(self) -> str:
        return (self.folder / "log").read_text()[-4000:]

    def ask(self, *names: str, shut: bool = False, priority: int = 0) -> None:
        for name in names:
            if shut:
                (self.folder / f"{name}.shut").touch()
            self.dispatch.ask("gate", name, priority=priority)

    def open(self, name: str) -> None:
        (self.folder / f"{name}.shut").unlink()

    def cancel(self, name: str) -> bool:
        return self.dispatch.cancel("gate", name)

    def marks(self, what: str) -> list[tuple[str, int]]:
        file = self.folder / "marks"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [(name, int(pid)) for name, kind, pid in lines if kind == what]

    def begun(self, name: str, times: int = 1) -> int:
        """Wait until it was begun so often; the process that began it last."""

        def look() -> int | None:
            pids = [pid for begun, pid in self.marks("begun") if begun == name]
            return pids[-1] if len(pids) >= times else None

        return eventually(look, f"{name} is begun {times} times: {self.assignments(name)} {self.log()}", SECONDS)

    def ended(self, name: str) -> Row:
        def look() -> Row | None:
            state = RequestStore(self.database).state("gate", name)
            return state if state is not None and state["ended_at"] is not None else None

        return eventually(look, f"{name} ends: {self.assignments(name)} {self.log()}", SECONDS)

    def assignments(self, name: str) -> list[tuple[str, str | None]]:
        found = self.database.fetch(
            "select a.status, a.comment from dwh.assignment a join dwh.request r on r.id = a.request_id "
            "where r.name = %(name)s order by a.assigned_at",
            name=name,
        )
        return [(row["status"], row["comment"]) for row in found]

    def fall_silent(self, pid: int) -> None:
        fall_silent(self.database, pid)

    def away_for_long(self) -> None:
        """What carries their messages was: nothing was heard of any worker for as long as it may be silent."""
        for process in self.processes:
            unheard(self.database, process.pid)

    def exit_code(self, pid: int) -> int:
        (process,) = [process for process in self.processes if process.pid == pid]
        return process.wait(SECONDS)


@contextmanager
def crew_of(database: Database, line: Line, folder: Path) -> Iterator[Crew]:
    crew = Crew(database, line, folder)
    try:
        yield crew
    finally:
        for process in crew.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
