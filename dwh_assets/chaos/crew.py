"""The workers of a round: killed ones are replaced, stopped ones go on after a while."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dwh_assets.chaos.forking import Nursery


@dataclass
class Worker:
    number: int
    pid: int
    armed: Path
    wakes: float | None = None  # when it goes on


@dataclass
class Crew:
    """`size` workers at any time. `on_stop` is told of each worker that was found stopped."""

    nursery: Nursery
    size: int
    environment: Mapping[str, str]
    folder: Path
    on_stop: Callable[[], None]
    workers: dict[int, Worker] = field(default_factory=dict)
    deaths: int = 0
    stops: int = 0
    _pause: dict[int, float] = field(default_factory=dict)
    _lives: int = 0

    def start(self) -> None:
        for number in range(self.size):
            self._start(number)

    def kill(self, number: int) -> None:
        os.kill(self.workers[number].pid, signal.SIGKILL)

    def stop(self, number: int, seconds: float) -> None:
        self._pause[number] = seconds
        os.kill(self.workers[number].pid, signal.SIGSTOP)

    def arm(self, number: int, point: str, action: str, seconds: float) -> None:
        """Let the worker kill or stop itself when it comes to a point."""
        worker = self.workers[number]
        name, _, passage = point.partition("*")
        self._pause[number] = seconds
        worker.armed.write_text(f"{name}={action}*{passage}")
        os.kill(worker.pid, signal.SIGUSR1)

    def watch(self) -> None:
        """Replace the dead, wake those that were stopped long enough."""
        for worker in list(self.workers.values()):
            if self.nursery.ask(poll=worker.pid) is not None:
                self.deaths += 1
                self._start(worker.number)
            elif worker.wakes is not None and time.monotonic() >= worker.wakes:
                worker.wakes = None
                os.kill(worker.pid, signal.SIGCONT)
            elif worker.wakes is None and _is_stopped(worker.pid):
                self.stops += 1
                worker.wakes = time.monotonic() + self._pause.pop(worker.number, 1.0)
                self.on_stop()

    @property
    def sleeping(self) -> bool:
        return any(worker.wakes is not None for worker in self.workers.values())

    def end(self, seconds: float) -> None:
        """They finish their blocks; who has not by then is killed, and nobody is left."""
        left = dict(self.workers)
        for worker in left.values():
            os.kill(worker.pid, signal.SIGTERM)
            os.kill(worker.pid, signal.SIGCONT)
        until = time.monotonic() + seconds
        while left:
            for number, worker in list(left.items()):
                if self.nursery.ask(poll=worker.pid) is not None:
                    del left[number]
                elif time.monotonic() > until:
                    os.kill(worker.pid, signal.SIGKILL)
                elif _is_stopped(worker.pid):  # it came to its point only now
                    os.kill(worker.pid, signal.SIGCONT)
            time.sleep(0.02)
        self.workers.clear()

    def _start(self, number: int) -> None:
        self._lives += 1
        output = self.folder / f"worker-{number}-{self._lives}"
        armed = output.with_suffix(".armed")
        job = {"environment": dict(self.environment), "output": str(output), "armed": str(armed)}
        self.workers[number] = Worker(number, self.nursery.ask(start=job), armed)


def _is_stopped(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False
