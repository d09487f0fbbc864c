"""Workers as real processes, forked from one that has imported everything: a start costs milliseconds, not seconds.

It says null when it has. Then orders come as JSON lines on stdin: {"start": Job} is answered with the pid, {"poll": pid} with the
exit code or null. A worker takes its settings, failpoints and switched-off protections from the environment of its job, as any
other process does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

Job = dict[str, Any]  # environment, output, and what else the work needs


def serve(work: Callable[[Job], None]) -> None:
    """Fork a worker for each job until stdin ends; then those that are left are killed."""
    children: set[int] = set()
    put(None)
    for line in sys.stdin:
        order = json.loads(line)
        answer: int | None
        if "start" in order:
            answer = _fork(order["start"], work)
            children.add(answer)
        else:
            answer = _exit_code(order["poll"])
            children -= {order["poll"]} if answer is not None else set()
        put(answer)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def put(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _fork(job: Job, work: Callable[[Job], None]) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        _become(job)
        work(job)
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must end here, whatever happens
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _exit_code(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(job: Job) -> None:
    """Take over the job's environment and write to its file."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    os.dup2(os.open(job["output"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    for name in [name for name in os.environ if name.startswith("DWH_")]:
        del os.environ[name]
    os.environ.update(job["environment"])


class Nursery:
    """The process that forks. `command` runs a script that calls `serve`."""

    def __init__(self, *command: str) -> None:
        # A session of its own: Ctrl-C reaches us alone, and it ends with all its workers when we close its stdin or die.
        self._process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._answer()

    def ask(self, **order: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
