"""A worker of a chaos run: a loop over all topics, as `dwh run` has it, that can be armed while it runs."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from pathlib import Path
from types import FrameType

from dwh_assets.chaos.forking import Job, put, serve
from dwh_assets.config.settings import load_settings
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop


def work(job: Job) -> None:
    """Load until told to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)
    logging.getLogger("pyiceberg").setLevel(logging.WARNING)
    settings = load_settings()
    assert settings.postgres_url is not None
    engine = Engine(settings, settings.postgres_url.get_secret_value())
    loop = Loop(engine, report=_report)

    def end(number: int, frame: FrameType | None) -> None:
        loop.stop.set()

    def arm(number: int, frame: FrameType | None) -> None:
        os.environ["DWH_FAILPOINTS"] = Path(job["armed"]).read_text()

    signal.signal(signal.SIGUSR1, arm)
    signal.signal(signal.SIGTERM, end)
    loop.run()


def _report(outcome: Outcome) -> None:
    block = outcome.claim.block.id if outcome.claim else None
    put({"result": outcome.result, "topic": outcome.topic, "block": block, "rows": outcome.rows, "text": outcome.text})


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # inherited: a signal that comes too early must not end a worker
    with suppress(KeyboardInterrupt):
        serve(work)
