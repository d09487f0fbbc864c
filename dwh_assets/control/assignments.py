"""Runs that wait for a warm worker, and the workers: a queue in the control store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql

Row = dict[str, Any]
CHANNEL = "dwh_assignment"


class AssignmentStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def ask(self, run_id: str) -> None:
        """Let the next free worker carry out this run."""
        self.database.fetch(sql("ask_for_worker"), run_id=run_id)

    def take(self, worker: str) -> str | None:
        row = self.database.fetch_one(sql("take_assignment"), worker=worker)
        return None if row is None else row["run_id"]

    def end(self, run_id: str) -> None:
        self.database.execute(sql("end_assignment"), run_id=run_id)

    def cancel(self, run_id: str) -> Row | None:
        return self.database.fetch_one(sql("cancel_assignment"), run_id=run_id)

    def state(self, run_id: str) -> Row | None:
        return self.database.fetch_one(sql("assignment_state"), run_id=run_id)

    def beat(self, worker: str) -> None:
        self.database.execute(sql("beat_worker"), worker=worker)

    def leave(self, worker: str) -> None:
        self.database.execute(sql("end_worker"), worker=worker)


@contextmanager
def listening(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that hears of runs that wait."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"listen {CHANNEL}".encode())
        yield connection


def heard(connection: psycopg.Connection[Any], seconds: float) -> bool:
    """Wait until a run is asked for, at most so long."""
    return any(True for _ in connection.notifies(timeout=seconds, stop_after=1))
