"""The event log: what happened, to what, by whom."""

from __future__ import annotations

from typing import Any

import psycopg

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.event import CODES, EventKind


def log_event(
    connection: psycopg.Connection[Any],
    code: str,
    text: str,
    *,
    who: str,
    kind: EventKind = "process",
    topic: str | None = None,
    block_id: int | None = None,
    execution_id: int | None = None,
    batch_instance_id: int | None = None,
) -> None:
    """Write one event in the caller's transaction, so that it is there exactly if its effect is."""
    if kind != "custom" and code not in CODES:
        raise ValueError(f"the event code {code!r} has no meaning yet; say it in dwh_assets/model/event.py")
    connection.execute(
        sql("insert_event"),
        {
            "kind": kind,
            "code": code,
            "topic": topic,
            "block_id": block_id,
            "execution_id": execution_id,
            "batch_instance_id": batch_instance_id,
            "who": who,
            "text": text,
        },
    )


def note_problem(database: Database, text: str, who: str) -> None:
    """Something could not be looked at. It is written down once an hour, not at every look."""
    with database.transaction() as connection:
        if connection.execute(sql("problem_told"), {"text": text}).fetchone() is None:
            log_event(connection, "OBSERVE", text, who=who)


def note_event(database: Database, code: str, text: str, who: str, topic: str | None = None) -> None:
    """An event that a person or a script outside writes: it tells of no effect of ours."""
    with database.transaction() as connection:
        log_event(connection, code, text, who=who, kind="custom", topic=topic)
