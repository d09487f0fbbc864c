"""A real worker process for the fault tests. `python worker.py` imports everything once and forks a worker for each job.

Jobs come as JSON lines on stdin: {"start": Job} is answered with the pid, {"poll": pid} with the exit code or null. A worker
takes its settings, failpoints and switched-off protections from its environment, as any other process of the product does.
"""

from __future__ import annotations

import datetime as clock
import json
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from dwh_assets.config.settings import load_settings
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.batch import BatchRunner
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.model.errors import NotDue, Refused

Job = dict[str, Any]


def main() -> None:
    children: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        answer: int | None
        if "start" in order:
            answer = _fork(order["start"])
            children.add(answer)
        else:
            answer = _exit_code(order["poll"])
            children -= {order["poll"]} if answer is not None else set()
        _put(answer)
    for pid in children:  # the tests ended without waiting for these
        os.kill(pid, signal.SIGKILL)


def _fork(job: Job) -> int:
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
    if job["clock"]:
        _shift_clock(job["clock"])


def work(job: Job) -> None:
    settings = load_settings()
    assert settings.postgres_url is not None
    engine = Engine(settings, settings.postgres_url.get_secret_value())
    say(worker=engine.worker)
    _wait_for(job["barrier"])
    if job["act"] == "batch":
        ran = BatchRunner(engine, engine.lineage.active(), report=_report).run(job["topics"][0])
        say(batch=ran.code, text=ran.text)
    elif job["act"] in ("claim", "force"):
        _claim(engine, job["topics"][0], job["act"] == "force")
    else:
        Loop(engine, topics=frozenset(job["topics"]), report=_report).run(until_dry=True)


def _claim(engine: Engine, topic: str, force: bool) -> None:
    try:
        engine.claims.claim(topic, force=force)
    except (Refused, NotDue) as error:
        say(result=type(error).__name__, text=str(error))
    else:
        say(result="claimed")


def _report(outcome: Outcome) -> None:
    block = outcome.claim.block.id if outcome.claim else None
    say(result=outcome.result, topic=outcome.topic, text=outcome.text, block=block, rows=outcome.rows)


def say(**what: object) -> None:
    _put(what)


def _put(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _wait_for(barrier: str | None) -> None:
    deadline = time.monotonic() + 60
    while barrier and not Path(barrier).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody opened the barrier {barrier}")
        time.sleep(0.002)


def _shift_clock(seconds: float) -> None:
    """Let every module of the product see a wall clock that is wrong by so much."""
    true_time = time.time

    class AnyInstant(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, clock.datetime)

    class Shifted(clock.datetime, metaclass=AnyInstant):
        @classmethod
        def now(cls, tz: clock.tzinfo | None = None) -> Any:
            return clock.datetime.fromtimestamp(true_time() + seconds, tz)

    time.time = lambda: true_time() + seconds
    for name, module in list(sys.modules.items()):
        if name.startswith("dwh_assets") and getattr(module, "datetime", None) is clock.datetime:
            module.datetime = Shifted  # type: ignore[attr-defined]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
