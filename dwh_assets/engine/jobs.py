"""A job of maintenance: one process at a time, its lease renewed while it works, and what it did written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dwh_assets.control.maintenance import Ended, Job
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.renewing import renewed
from dwh_assets.model.errors import in_words

Report = Callable[[str, int, int], None]  # what is done now, how much of it is done, of how much


@dataclass(frozen=True)
class Result:
    """What a task did to a table, or to the control store where there is none."""

    task: str
    table: str
    figures: dict[str, int] = field(default_factory=dict)
    text: str = ""
    ended: Ended = "done"


def run_job(engine: Engine, task: str, table: str, act: Callable[[Job], Result]) -> Result:
    """Do it, unless another process is at the same. A failure is written down and raised."""
    job = engine.maintenance.begin(task, table)
    if job is None:
        return Result(task, table, text="another process is at it", ended="gave up")
    with renewed(lambda: engine.maintenance.renew(job), engine.settings.lease_seconds, f"maintenance-{job.id}"):
        try:
            result = act(job)
        except Exception as error:
            engine.maintenance.end(job, "failed", {}, in_words(error))
            raise
    engine.maintenance.end(job, result.ended, result.figures, result.text)
    return result
