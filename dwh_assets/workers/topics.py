"""What a worker does for the loop: a turn of blocks of one topic, each the way of every block."""

from __future__ import annotations

from dwh_assets.control.assignments import RequestStore
from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.turn import turn
from dwh_assets.model.errors import Refused
from dwh_assets.workers.job import Handler, Job
from dwh_assets.workers.manager import online_seconds
from dwh_assets.workers.streams import serving

KIND = "topic"


def topic_handler(engine: Engine) -> Handler:
    def handle(job: Job) -> None:
        with serving(engine, job):
            load(engine, job)

    return handle


def load(engine: Engine, job: Job) -> None:
    """Load what is due of the topic, block after block, until others come before it and no other worker is free for them."""
    lineage, requests = engine.lineage.active(), RequestStore(engine.database)
    online = online_seconds(engine.settings)
    outcomes = turn(
        lambda: attempt(engine, lineage, job.name),
        lambda: engine.ending() or requests.come_before(job.id, online),
    )
    for outcome in outcomes:
        if outcome.result not in ("idle", "committed"):
            raise Refused(outcome.text)
