"""A real worker process for the fault tests. `python worker.py` imports everything once and forks a worker for each job."""

from __future__ import annotations

import datetime as clock
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from dwh_assets.chaos.forking import Job, put, serve
from dwh_assets.config.settings import load_settings
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.batch import BatchRunner
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.model.errors import NotDue, Refused


def work(job: Job) -> None:
    if job["clock"]:
        shift_clock(job["clock"])
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
    put(what)


def _wait_for(barrier: str | None) -> None:
    deadline = time.monotonic() + 60
    while barrier and not Path(barrier).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody opened the barrier {barrier}")
        time.sleep(0.002)


def shift_clock(seconds: float) -> None:
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
        serve(work)
