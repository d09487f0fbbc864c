"""The phases of each execution, with their totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.phase import Advance, PhaseNote, Totals


@dataclass(frozen=True)
class StoredNote:
    """A note as the table takes it: each tells a part of its row."""

    stream: str
    phase: str
    execution_id: int | None
    assignment_id: UUID | None = None
    worker: UUID | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failed: bool = False
    total_in: int = -1
    total_out: int = -1
    total_failed: int = -1
    tasks: int = 0
    tasks_done: int = 0


def put_phases(connection: psycopg.Connection[Any], notes: Iterable[StoredNote]) -> None:
    for note in notes:
        connection.execute(sql("note_phase"), asdict(note))


class PhaseStore:
    """What is loaded without a worker is written down at once, without a bus."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def note(self, notes: Sequence[PhaseNote]) -> None:
        now = self.database.clock()
        with self.database.transaction() as connection:
            put_phases(connection, [_stored(note, now) for note in notes])


def _stored(note: PhaseNote, now: datetime) -> StoredNote:
    totals, advance = note.totals or Totals(), note.advance or Advance()
    return StoredNote(
        note.stream,
        note.phase,
        note.execution_id,
        started_at=now if note.event == "started" else None,
        finished_at=now if note.event in ("finished", "failed") else None,
        failed=note.event == "failed",
        total_in=totals.incoming,
        total_out=totals.outgoing,
        total_failed=totals.failed,
        tasks=advance.tasks,
        tasks_done=advance.done,
    )
