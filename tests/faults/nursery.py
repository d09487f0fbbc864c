"""Workers as real processes, and what tests wait for in them."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dwh_assets.chaos import forking

SECONDS = 180.0
T = TypeVar("T")


def eventually(ask: Callable[[], T | None], what: str, seconds: float = SECONDS) -> T:
    """Poll until there is an answer."""
    deadline = time.monotonic() + seconds
    while (answer := ask()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.01)
    return answer


class Nursery(forking.Nursery):
    def __init__(self) -> None:
        super().__init__(str(Path(__file__).with_name("worker.py")))


@dataclass
class Worker:
    nursery: Nursery
    pid: int
    output: Path
    _code: int | None = field(default=None)

    def lines(self) -> list[dict[str, Any]]:
        text = self.output.read_text() if self.output.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    @property
    def results(self) -> list[str]:
        """How its attempts ended."""
        return [line["result"] for line in self.lines() if "result" in line]

    @property
    def name(self) -> str:
        """What the control store calls it."""
        return eventually(lambda: next((line["worker"] for line in self.lines() if "worker" in line), None), "worker's name")

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = self.nursery.ask(poll=self.pid)
        return self._code

    def wait(self, seconds: float = SECONDS) -> int:
        return eventually(self.exit_code, f"end of worker {self.pid}: {self._errors()}", seconds)

    def wait_until_killed(self) -> None:
        code = self.wait()
        assert code == -signal.SIGKILL, f"exit code {code}: it never came to its failpoint\n{self.lines()}\n{self._errors()}"

    def wait_until_stopped(self) -> None:
        def stopped() -> bool | None:
            assert self.exit_code() is None, f"it ended before its failpoint\n{self.lines()}\n{self._errors()}"
            return True if _thread_states(self.pid) == {"T"} else None

        eventually(stopped, f"stop of worker {self.pid}")

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def finish(self, seconds: float = SECONDS) -> list[str]:
        """Resume it, wait for its orderly end, and say how its attempts ended."""
        self.resume()
        assert self.wait(seconds) == 0, self._errors()
        return self.results

    def _errors(self) -> str:
        errors = self.output.with_name(self.output.name + ".err")
        return errors.read_text()[-4000:] if errors.exists() else ""


def _thread_states(pid: int) -> set[str]:
    """Of all threads; empty while one of them is just ending."""
    try:
        stats = [thread.read_text() for thread in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {stat.rpartition(")")[2].split()[0] for stat in stats}
