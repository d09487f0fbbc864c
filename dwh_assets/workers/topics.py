"""What a worker does for the loop: blocks of one topic, a few in a row, each the way of every block."""

from __future__ import annotations

import itertools

from dwh_assets.control.assignments import RequestStore
from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import Refused
from dwh_assets.workers.job import Handler, Job
from dwh_assets.workers.streams import serving

KIND = "topic"


def topic_handler(engine: Engine) -> Handler:
    def handle(job: Job) -> None:
        with serving(engine, job):
            load(engine, job)

    return handle


def load(engine: Engine, job: Job) -> None:
    """Load what is due of the topic, block after block; after a turn of them others have theirs, if someone waits."""
    lineage, requests = engine.lineage.active(), RequestStore(engine.database)
    for number in itertools.count(1):
        outcome = attempt(engine, lineage, job.name)
        if outcome.result not in ("idle", "committed"):
            raise Refused(outcome.text)
        if outcome.result == "idle" or engine.ending() or (number >= engine.settings.turn_blocks and requests.wait()):
            return
