"""What a worker does for the loop: blocks of one topic, a few in a row, each the way of every block."""

from __future__ import annotations

from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import Refused
from dwh_assets.workers.job import Handler, Job
from dwh_assets.workers.streams import telling_phases

KIND = "topic"


def topic_handler(engine: Engine) -> Handler:
    def handle(job: Job) -> None:
        with telling_phases(engine, job):
            load(engine, job)

    return handle


def load(engine: Engine, job: Job) -> None:
    """Load what is due of the topic, at most a turn of it: then others have theirs."""
    lineage = engine.lineage.active()
    for _ in range(engine.settings.turn_blocks):
        outcome: Outcome = attempt(engine, lineage, job.name)
        if outcome.result == "idle":
            return
        if outcome.result != "committed":
            raise Refused(outcome.text)
