"""Batch instances: begun by an evaluation (D5), kept by a lease, ended with the names of what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from dwh_assets.config.frequency import period_start
from dwh_assets.config.lineage_spec import batch_from_spec
from dwh_assets.control.acts import require_reason
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.batch import Batch
from dwh_assets.model.errors import LeaseLost, UnknownBatch
from dwh_assets.model.evaluation import BatchFacts, Decision, LinkState, evaluate_batch, skipped
from dwh_assets.model.near import did_you_mean

Connection = psycopg.Connection[Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Begin:
    """How a run of a batch was asked for. `again` passes over its frequency."""

    started_by: str = "hand"
    parent: int | None = None
    link: LinkState = "alone"
    again: bool = False
    dagster_run: str | None = None


@dataclass(frozen=True)
class Begun:
    """A run of a batch, begun or written down as one that may not begin. `skips` had succeeded in the run that it makes good."""

    batch: Batch
    instance: int
    decision: Decision
    skips: tuple[str, ...]


class BatchStore:
    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.database = database
        self.worker = worker
        self.lease_seconds = lease_seconds

    def begin(self, name: str, how: Begin) -> Begun:
        """Evaluation and instance in one transaction. An unknown batch is an error and leaves no instance (K3)."""
        with self.database.transaction() as connection:
            row = lock_batch(connection, name)
            self._end_lost(connection, name)
            batch = batch_from_spec(row["spec"])
            facts = _facts(connection, row, batch, how)
            decision = evaluate_batch(facts)
            if decision.heeds:
                connection.execute(sql("ask_batch_next_run"), {"batch": name, "code": "Proceed"})
            skips = skipped(facts) if decision.runs else ()
            instance = self._insert(connection, name, how, decision, skips)
        return Begun(batch, instance, decision, skips)

    def _insert(self, connection: Connection, name: str, how: Begin, decision: Decision, skips: Sequence[str]) -> int:
        values = {
            "batch": name,
            "parent": how.parent,
            "started_by": how.started_by,
            "worker": self.worker,
            "lease": self.lease_seconds,
            "execution_code": decision.execution_code,
            "processing_code": decision.code,
            "succeeded": list(skips),
            "reason": decision.text,
            "dagster_run": how.dagster_run,
        }
        return one(connection.execute(sql("insert_batch_instance"), values))["id"]

    def renew(self, instance: int) -> bool:
        """False when it was taken for lost and has ended."""
        return bool(self.database.fetch(sql("renew_batch"), instance=instance, worker=self.worker, lease=self.lease_seconds))

    def note(self, instance: int, name: str, ok: bool) -> None:
        if not self.database.fetch(sql("note_batch_part"), instance=instance, name=name, ok=ok):
            raise LeaseLost(_lost(instance))

    def end(self, begun: Begun, reason: str) -> str:
        """Returns its execution code: Failed where a part of it was noted as failed."""
        with self.database.transaction() as connection:
            ended = connection.execute(sql("end_batch"), {"instance": begun.instance, "reason": reason}).fetchone()
            if ended is None:
                raise LeaseLost(_lost(begun.instance))
            if ended["execution_code"] == "Failed":
                log_event(
                    connection, "BATCH", f"batch {begun.batch.name}: {reason}", who=self.worker, batch_instance_id=begun.instance
                )
        return ended["execution_code"]

    def end_lost(self) -> int:
        """End the instances that processes left behind which are gone; returns how many."""
        with self.database.transaction() as connection:
            return self._end_lost(connection, None)

    def _end_lost(self, connection: Connection, name: str | None) -> int:
        lost = connection.execute(sql("end_lost_batches"), {"batch": name}).fetchall()
        for row in lost:
            text = f"batch {row['batch']}: worker {row['worker']} was lost; instance {row['id']} ended as Failed"
            log_event(connection, "LOST", text, who=self.worker, batch_instance_id=row["id"])
        return len(lost)

    def to_follow(self) -> list[str]:
        """Batches that start now, as all that they come after have succeeded since they last began."""
        return [row["name"] for row in self.database.fetch(sql("batches_to_follow"))]

    def ask(self, name: str, code: str, reason: str, who: str) -> None:
        """What a person asks of the next run of a batch, logged before it takes effect."""
        require_reason("next-run", name, reason)
        with self.database.transaction() as connection:
            lock_batch(connection, name)
            log_event(connection, "NEXT_RUN", f"batch {name}, {code.lower()}: {reason}", who=who, kind="act")
            connection.execute(sql("ask_batch_next_run"), {"batch": name, "code": code})


def lock_batch(connection: Connection, name: str) -> Row:
    row = connection.execute(sql("lock_batch"), {"batch": name}).fetchone()
    if row is None:
        raise unknown_batch(name, [found["name"] for found in connection.execute(sql("batch_names"))])
    return row


def unknown_batch(name: str, known: Sequence[str]) -> UnknownBatch:
    hint = did_you_mean(name, known)
    return UnknownBatch(f"there is no batch {name!r}.{hint} `dwh batch list` shows them all. Nothing was run.")


def _facts(connection: Connection, row: Row, batch: Batch, how: Begin) -> BatchFacts:
    about = {"batch": batch.name}
    running = connection.execute(sql("running_batch_instance"), about).fetchone()
    previous = connection.execute(sql("previous_batch_instance"), about).fetchone()
    return BatchFacts(
        running=None if running is None else f"instance {running['id']} (worker {running['worker']})",
        link=how.link,
        active=row["active"],
        next_run=row["next_run_code"],
        previous=None if previous is None else previous["execution_code"],
        succeeded_then=() if previous is None else tuple(previous["succeeded"]),
        window_open=batch.time is None or batch.time.is_open(row["now"], batch.timezone),
        due=how.again or _due(connection, row, batch),
    )


def _due(connection: Connection, row: Row, batch: Batch) -> bool:
    """Whether it has not yet succeeded in the period that is running; always, where it has no frequency."""
    if batch.frequency is None:
        return True
    began = one(connection.execute(sql("last_batch_success"), {"batch": batch.name}))["began"]
    return began is None or began < period_start(batch.frequency, batch.timezone, row["now"])


def _lost(instance: int) -> str:
    return (
        f"batch instance {instance} was taken for lost while this process was paused, and has ended.\n"
        "What was loaded stays; the next run of the batch goes on with the rest."
    )
