"""What is asked of the workers, who was given it, and how far it is; the workers themselves, and which of them manages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from dwh_assets.control.claim_set import end_lost_execution
from dwh_assets.control.database import Database
from dwh_assets.control.phases import StoredNote, put_phases
from dwh_assets.control.statements import sql

Row = dict[str, Any]
Status = Literal["ACCEPTED", "RUNNING", "FINISHED", "FAILED", "REJECTED"]


class Beat(NamedTuple):
    """What a worker said of itself, and when the bus took it."""

    id: UUID
    state: str
    at: datetime


class Move(NamedTuple):
    """A status that a worker reported of an assignment."""

    id: UUID
    worker: UUID
    status: Status
    comment: str | None = None


class RequestStore:
    """The side of those who ask."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def ask(self, kind: str, name: str, topic: str | None = None, priority: int = 0, **configuration: Any) -> bool:
        """Let a worker carry it out; False if that is asked for already. The worker is told kind, name and configuration."""
        given = json.dumps(configuration | {"kind": kind, "name": name})
        parameters = {"kind": kind, "name": name, "topic": topic, "priority": priority, "configuration": given}
        return bool(self.database.execute(sql("ask_request"), **parameters))

    def cancel(self, kind: str, name: str) -> Row | None:
        return self.database.fetch_one(sql("cancel_request"), kind=kind, name=name)

    def come_before(self, assignment: UUID, online: float) -> bool:
        """Is its turn over: do others wait that come before it, for whom no worker is free?"""
        (row,) = self.database.fetch(sql("requests_come_before"), id=assignment, online=online)
        return row["found"]

    def state(self, kind: str, name: str) -> Row | None:
        return self.database.fetch_one(sql("request_state"), kind=kind, name=name)


class WorkerStore:
    """The side of a worker. What it reports goes by the bus; here it asks whether it still may."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def register(self, worker: UUID, host: str, pid: int, kinds: Iterable[str] | None = None) -> None:
        """`kinds` of requests that it carries out; none given: any."""
        known = None if kinds is None else sorted(kinds)
        self.database.execute(sql("register_worker"), id=worker, host=host, pid=pid, kinds=known)

    def leave(self, worker: UUID) -> None:
        self.database.execute(sql("end_worker"), id=worker)

    def start(self, assignment: UUID, worker: UUID) -> bool:
        """False: this worker was too slow, or nobody wants it any more. Without it an expired assignment would run twice."""
        return bool(self.database.fetch(sql("start_assignment"), id=assignment, worker=worker))

    def held(self, assignment: UUID, worker: UUID) -> Row | None:
        return self.database.fetch_one(sql("assignment_held"), id=assignment, worker=worker)


class ManagerStore:
    """The side of the manager. Any number of them may act at once: each act is one statement under row locks."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def lead(self, worker: UUID, seconds: float, online: float, silence: float, anew: bool) -> bool:
        """`anew`: it has not listened until now."""
        parameters = {"id": worker, "seconds": seconds, "online": online, "silence": silence, "anew": anew}
        return bool(self.database.fetch(sql("take_manager_lease"), **parameters))

    def resign(self, worker: UUID) -> None:
        self.database.execute(sql("release_manager_lease"), id=worker)

    def note(self, beats: Iterable[Beat], moves: Iterable[Move], phases: Iterable[StoredNote]) -> None:
        """Write down what workers have said, in one transaction; said twice or in another order, it comes to the same."""
        with self.database.transaction() as connection:
            for beat in beats:
                connection.execute(sql("beat_worker"), beat._asdict())
            for move in moves:
                connection.execute(sql("move_assignment"), move._asdict())
            put_phases(connection, phases)

    def assign(self, online: float) -> Row | None:
        return self.database.fetch_one(sql("assign_request"), online=online)

    def lose(self, manager: UUID, silence: float, expiry: float) -> list[Row]:
        """End what nothing more will be heard of. What its worker held is free in the same transaction: whoever is given it next
        must not find it locked."""
        with self.database.transaction() as connection:
            parameters = {"manager": manager, "silence": silence, "expiry": expiry}
            lost = connection.execute(sql("lose_assignments"), parameters).fetchall()
            workers = [row["worker"] for row in lost]
            for topic in connection.execute(sql("free_lost_topics"), {"workers": workers}) if lost else ():
                end_lost_execution(connection, topic["id"], topic["name"], "manager")
        return lost
