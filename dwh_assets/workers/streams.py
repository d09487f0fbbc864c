"""The phases of an execution as messages of the bus, and back: one stream per attempt at a block, named by its topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dwh_assets.control.phases import StoredNote
from dwh_assets.model.phase import PhaseNote
from dwh_assets.workers.bus import Delivery
from dwh_assets.workers.job import Job
from dwh_assets.workers.messages import (
    Message,
    Stream,
    StreamAdvanced,
    StreamFailed,
    StreamFinished,
    StreamStarted,
    StreamStats,
)

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine  # else Dagster's launcher would load Spark's libraries

ENDS = {"started": StreamStarted, "finished": StreamFinished, "failed": StreamFailed}


@contextmanager
def serving(engine: Engine, job: Job) -> Iterator[None]:
    """What the engine tells of its attempts goes on the bus, as part of this job, and it heeds that the worker is to end."""
    before = engine.tell_phases, engine.ending
    engine.tell_phases = lambda notes: job.say(*(message for note in notes for message in messages_of(note, job)))
    engine.ending = job.ending
    try:
        yield
    finally:
        engine.tell_phases, engine.ending = before


def messages_of(note: PhaseNote, job: Job) -> list[Message]:
    """Totals are told right before the end."""
    stream: dict[str, Any] = {
        "etl_execution_id": job.id,
        "phase": note.phase,
        "data_stream_name": note.stream,
        "instance_id": job.worker,
        "execution": note.execution_id,
    }
    if note.advance is not None:
        return [StreamAdvanced(**stream, tasks=note.advance.tasks, tasks_done=note.advance.done)]
    told: list[Message] = []
    if note.totals is not None:
        told.append(
            StreamStats(
                **stream,
                total_in_messages=note.totals.incoming,
                total_out_messages=note.totals.outgoing,
                total_failed_messages=note.totals.failed,
            )
        )
    return [*told, ENDS[note.event](**stream)]


def phases_of(heard: Sequence[Delivery]) -> list[StoredNote]:
    return [_note(message, at) for message, at in heard if isinstance(message, Stream)]


def _note(message: Stream, at: datetime) -> StoredNote:
    fields: dict[str, Any]
    if isinstance(message, StreamStarted):
        fields = {"started_at": at}
    elif isinstance(message, StreamStats):
        totals = (message.total_in_messages, message.total_out_messages, message.total_failed_messages)
        fields = dict(zip(("total_in", "total_out", "total_failed"), totals, strict=True))
    elif isinstance(message, StreamAdvanced):
        fields = {"tasks": message.tasks, "tasks_done": min(message.tasks, message.tasks_done)}
    else:
        fields = {"finished_at": at, "failed": isinstance(message, StreamFailed)}
    ids = {"execution_id": message.execution, "assignment_id": message.etl_execution_id, "worker": message.instance_id}
    return StoredNote(message.data_stream_name, message.phase, **ids, **fields)
