"""The manager: hears what workers say, gives them what is asked for, and gives it again when it was lost."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from uuid import UUID

from dwh_assets.config.worker_settings import WorkerSettings
from dwh_assets.control.assignments import Beat, ManagerStore, Move, RequestStore, Status
from dwh_assets.control.database import Database
from dwh_assets.model.errors import BusDown, Transient
from dwh_assets.workers.bus import Bus, Delivery, Reader
from dwh_assets.workers.messages import (
    HEARTBEAT,
    PROGRESS,
    Accepted,
    Assign,
    Cancel,
    Command,
    Failed,
    Finished,
    Heartbeat,
    Progress,
    Rejected,
    Started,
)
from dwh_assets.workers.streams import phases_of

logger = logging.getLogger(__name__)
GROUP = "manager"
LEASE_BEATS = 5  # a manager that is stopped is replaced after so many beats
ONLINE_BEATS = 5  # nothing is given to a worker that has missed so many
PRUNE_SECONDS = 10.0
STATUSES: dict[type[Progress], Status] = {
    Accepted: "ACCEPTED",
    Rejected: "REJECTED",
    Started: "RUNNING",
    Finished: "FINISHED",
    Failed: "FAILED",
}


def online_seconds(settings: WorkerSettings) -> float:
    """A worker that was not heard of for so long is given nothing."""
    return settings.beat_seconds * ONLINE_BEATS


class Dispatch:
    """Asking for work and giving it out: the same for Dagster's launcher, the loop and the manager."""

    def __init__(self, database: Database, bus: Bus, settings: WorkerSettings) -> None:
        self._requests = RequestStore(database)
        self._store = ManagerStore(database)
        self._bus = bus
        self._online = online_seconds(settings)

    def ask(self, kind: str, name: str, topic: str | None = None, priority: int = 0, **configuration: object) -> None:
        """Let the next free worker carry it out; one that is free now is told at once."""
        if self._requests.ask(kind, name, topic, priority, **configuration):
            self.give()

    def give(self) -> int:
        """Give what waits to those who are free. What is stored and not told, because this process dies here, expires."""
        given = 0
        while row := self._store.assign(self._online):
            self._tell(Assign(assignee=row["worker"], etl_execution_id=row["id"], configuration=row["configuration"]))
            given += 1
        return given

    def cancel(self, kind: str, name: str) -> bool:
        """Ask for its end. True if it is over with that: it waited, is unknown, or had ended."""
        found = self._requests.cancel(kind, name)
        if found is None or found["worker"] is None:
            return True
        self._tell(Cancel(assignee=found["worker"], etl_execution_id=found["assignment"]))
        return False

    def _tell(self, *commands: Command) -> None:
        """A broker that is away stops nobody who asks: what no worker hears of expires, and a cancel is found by looking."""
        try:
            self._bus.publish(*commands)
        except BusDown as error:
            logger.warning("%s", error)


class Manager:
    """One of many that could; `id` is the worker whose process it lives in."""

    def __init__(self, id_: UUID, database: Database, bus: Bus, settings: WorkerSettings) -> None:
        self._id = id_
        self._store = ManagerStore(database)
        self._bus = bus
        self._settings = settings
        self._dispatch = Dispatch(database, bus, settings)
        self._reader: Reader | None = None
        self._pruned = 0.0

    def run(self, stop: threading.Event) -> None:
        """Manage while no other does, until told to stop."""
        while not stop.is_set():
            try:
                if not self.step():
                    stop.wait(self._settings.beat_seconds)
            except Transient as error:
                logger.warning("manager: %s", error)
                self._retire()
                stop.wait(self._settings.beat_seconds)
        self._retire()
        try:
            self._store.resign(self._id)
        except Transient as error:
            logger.warning("manager: %s", error)  # its lease runs out

    def step(self) -> bool:
        """Hear what is new and act upon it. False if another one manages."""
        beat, silence = self._settings.beat_seconds, self._settings.silence_seconds
        if not self._store.lead(self._id, beat * LEASE_BEATS, online_seconds(self._settings), silence, anew=self._reader is None):
            self._retire()
            return False
        if self._reader is None:
            self._reader = self._bus.reader(HEARTBEAT, PROGRESS, group=GROUP)
        heard = self._reader.read(beat)
        if heard:
            self._store.note(beats_of(heard), moves_of(heard), phases_of(heard))
            self._reader.done()
        self._lose()
        self._dispatch.give()
        self._prune()
        return True

    def _lose(self) -> None:
        for row in self._store.lose(self._id, self._settings.silence_seconds, self._settings.expiry_seconds):
            logger.warning("%s %s is given again: %s (worker %s)", row["kind"], row["name"], row["comment"], row["worker"])

    def _prune(self) -> None:
        if time.monotonic() - self._pruned > PRUNE_SECONDS:
            self._bus.prune()
            self._pruned = time.monotonic()

    def _retire(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def beats_of(heard: Sequence[Delivery]) -> list[Beat]:
    """The newest report of each worker."""
    newest = {m.id: Beat(m.id, m.state, at) for m, at in heard if isinstance(m, Heartbeat)}
    return [newest[id_] for id_ in sorted(newest)]  # in one order: two managers at once must not wait for each other


def moves_of(heard: Sequence[Delivery]) -> list[Move]:
    found = [message for message, _ in heard if isinstance(message, Progress)]
    return [
        Move(m.etl_execution_id, m.assignee, STATUSES[type(m)], m.reason if isinstance(m, Failed) else None)
        for m in found
        if type(m) in STATUSES
    ]
