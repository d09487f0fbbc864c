"""A tree of processes: started in order, started again when one dies, ended together; none is left behind."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dwh_assets.cli.output import working
from dwh_assets.config.machine import write_private
from dwh_assets.model.errors import Transient
from dwh_assets.orchestration.processes import Process

logger = logging.getLogger(__name__)
START_SECONDS = 180.0
STOP_SECONDS = 20.0
AGAIN_SECONDS = 5.0
STEADY_SECONDS = 60.0  # a process that lived so long starts again at once; one that dies sooner waits longer each time


@dataclass
class Child:
    process: Process
    popen: subprocess.Popen[bytes]
    started: float
    deaths: int = 0
    restart_at: float = 0.0


@dataclass
class Supervisor:
    """The processes of one home. Their output goes to `logs/NAME.log`, their pids to a file that the next start cleans up by."""

    home: Path
    processes: Sequence[Process]
    project: Path
    what: str = "Dagster"
    children: dict[str, Child] = field(default_factory=dict)

    @contextmanager
    def running(self, stop: threading.Event) -> Iterator[None]:
        """All of them, from when they are ready until the block ends; a thread starts again what dies."""
        end_remains(self.home)
        watcher = threading.Thread(target=self._watch, args=(stop,), name="supervisor", daemon=True)
        try:
            self._start(stop)
            watcher.start()
            yield
        finally:
            stop.set()
            if watcher.is_alive():
                watcher.join()
            self._end()

    def _start(self, stop: threading.Event) -> None:
        with working(f"starting {self.what} (10 to 20 s)", long=True):
            for process in self.processes:
                self.children[process.name] = Child(process, self._spawn(process), time.monotonic())
            self._note()
            self._wait_until_ready(stop)

    def _spawn(self, process: Process) -> subprocess.Popen[bytes]:
        log = self.home / "logs" / f"{process.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            # A session of its own: Ctrl-C reaches us alone, and its children can be ended with it.
            return subprocess.Popen(
                process.command,
                env=os.environ | process.environment,
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_until_ready(self, stop: threading.Event) -> None:
        until = time.monotonic() + START_SECONDS
        for child in self.children.values():
            while not child.process.ready() and not stop.wait(0.2):
                if child.popen.poll() is not None or time.monotonic() > until:
                    log = self.home / "logs" / f"{child.process.name}.log"
                    raise Transient(f"{self.what}: {child.process.name} did not start; the reason is at the end of {log}")

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(0.5):
            for child in self.children.values():
                if child.popen.poll() is not None:
                    self._restart(child)

    def _restart(self, child: Child) -> None:
        now = time.monotonic()
        if not child.restart_at:
            child.deaths = 0 if now - child.started > STEADY_SECONDS else child.deaths + 1
            child.restart_at = now + min(30.0, 2.0**child.deaths - 1)
            logger.warning("%s ended with %s; it is started again", child.process.name, child.popen.returncode)
        if now >= child.restart_at:
            _end_group(child.popen.pid)
            child.popen, child.started, child.restart_at = self._spawn(child.process), now, 0.0
            self._note()

    def _note(self) -> None:
        pids = [[child.popen.pid, _birth(child.popen.pid)] for child in self.children.values()]
        write_private(self.home / "processes.json", json.dumps(pids))

    def _end(self) -> None:
        """Told once a worker finishes its block, told twice it interrupts it."""
        for seconds in (STOP_SECONDS, AGAIN_SECONDS):
            self._terminate(seconds)
        for child in self.children.values():
            if child.popen.poll() is None:
                logger.warning("%s did not end by itself", child.process.name)
            _end_group(child.popen.pid)
            child.popen.wait()
        (self.home / "processes.json").unlink(missing_ok=True)

    def _terminate(self, seconds: float) -> None:
        """The last first: a daemon must not start runs on a code server that is gone."""
        alive = [child.popen for child in reversed(self.children.values()) if child.popen.poll() is None]
        for popen in alive:
            popen.terminate()
        until = time.monotonic() + seconds
        for popen in alive:
            with suppress(subprocess.TimeoutExpired):
                popen.wait(max(0.1, until - time.monotonic()))


def end_remains(home: Path) -> int:
    """End what a killed `dwh up` left behind; returns how many of its processes there were."""
    file = home / "processes.json"
    if not file.exists():
        return 0
    alive = [psutil.Process(pid) for pid, birth in json.loads(file.read_text()) if birth is not None and _birth(pid) == birth]
    for process in alive:
        _end_group(process.pid)
    psutil.wait_procs(alive, timeout=AGAIN_SECONDS)  # whoever comes next must find their locks free
    file.unlink(missing_ok=True)
    return len(alive)


def _end_group(leader: int) -> None:
    """Whatever the process has started goes with it: a block that is being loaded is repeated by the next run."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _birth(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None
