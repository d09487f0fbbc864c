"""Jobs of maintenance: who works at what, what is still needed of a table, and the one transaction that publishes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import psycopg

from dwh_assets.control.commits import Pointer, publish_pointers
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import LeaseLost, PointerTaken

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
Ended = Literal["done", "gave up", "failed"]
NOBODY = -1  # is no topic: a table that any topic holds is held by another


@dataclass(frozen=True)
class Job:
    id: int
    task: str
    table: str

    @property
    def branch(self) -> str:
        return f"m{self.id}"


@dataclass(frozen=True)
class Expiry:
    """Blocks whose rows go, and what must hold for that when it is published."""

    table: str
    module: str
    keep: timedelta
    blocks: tuple[Row, ...]

    @property
    def ids(self) -> list[int]:
        return [block["id"] for block in self.blocks]

    @property
    def rows(self) -> int:
        return sum(block["rows"] for block in self.blocks)


class MaintenanceStore:
    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.database = database
        self.worker = worker
        self.lease_seconds = lease_seconds

    def begin(self, task: str, table: str = "") -> Job | None:
        """None while another process does the same."""
        with self.database.transaction() as connection:
            connection.execute(sql("end_lost_maintenance"))
            asked = {"task": task, "table": table, "worker": self.worker, "lease": self.lease_seconds}
            row = connection.execute(sql("begin_maintenance"), asked).fetchone()
        return None if row is None else Job(row["id"], task, table)

    def renew(self, job: Job) -> bool:
        return bool(self.database.fetch(sql("renew_maintenance"), id=job.id, lease=self.lease_seconds))

    def end(self, job: Job, result: Ended, figures: Mapping[str, int], text: str) -> None:
        self.database.fetch(sql("end_maintenance"), id=job.id, result=result, figures=json.dumps(figures), text=text)

    def live_branches(self) -> set[str]:
        return {f"m{row['id']}" for row in self.database.fetch(sql("running_maintenance"))}

    def needed_snapshots(self, table: str) -> set[int]:
        """Snapshots that running attempts read, or were forked from."""
        return {row["snapshot_id"] for row in self.database.fetch(sql("needed_snapshots"), table=table)}

    def touched(self, table: str) -> list[tuple[datetime, datetime]]:
        """Ranges of the table that are being written now."""
        return [(row["low"], row["high"]) for row in self.database.fetch(sql("touched_ranges"), table=table)]

    def to_expire(self, table: str, module: str, keep: timedelta, limit: int | None = None) -> Expiry:
        """The oldest blocks of a module that were kept long enough and that nobody needs."""
        asked = {"table": table, "module": module, "keep": keep, "ids": None, "limit": limit}
        return Expiry(table, module, keep, tuple(self.database.fetch(sql("blocks_to_expire"), **asked)))

    def publish(self, job: Job, pointer: Pointer | None, expiry: Expiry | None = None) -> None:
        """Let the catalog point to what the job made, and note which blocks it has emptied; or change nothing at all.

        Raises PointerTaken while a topic replaces rows of the table, or when another writer published first: loading has
        precedence. Raises LeaseLost when this job was taken for dead.
        """
        with self.database.transaction() as connection:
            _guard(connection, job)
            if expiry is not None:
                _expire(connection, expiry, self.worker)
            publish_pointers(connection, [pointer] if pointer else [])


def _guard(connection: Connection, job: Job) -> None:
    if connection.execute(sql("lock_maintenance"), {"id": job.id}).fetchone() is None:
        raise LeaseLost(
            f"{job.task} of {job.table}: this job was slow to renew its lease and was ended as lost.\n"
            "Nothing was published by it and no data was lost; the next round does the work."
        )
    # A replacing write holds the table from its fork on: were main to move under it, it would have to begin anew.
    free = {"target": job.table, "topic_id": NOBODY, "token": NOBODY}
    if connection.execute(sql("lock_target"), free).fetchone() is None:
        raise PointerTaken(f"{job.task} of {job.table}: a topic is replacing rows of it; maintenance waits for it")


def _expire(connection: Connection, expiry: Expiry, worker: str) -> None:
    """Looked at again here: a topic may have been reset, or a restatement asked for, while the rows were taken out."""
    asked = {"table": expiry.table, "module": expiry.module, "keep": expiry.keep, "ids": expiry.ids, "limit": None}
    found = connection.execute(sql("blocks_to_expire"), asked).fetchall()
    if len(found) < len(expiry.blocks):
        raise PointerTaken(f"keep of {expiry.table}: some of the rows that were to go are needed again")
    connection.execute(sql("expire_blocks"), {"ids": expiry.ids})
    for topic in sorted({block["topic"] for block in expiry.blocks}):
        mine = [block for block in expiry.blocks if block["topic"] == topic]
        rows = sum(block["rows"] for block in mine)
        text = f"{rows} rows of {len(mine)} blocks, {mine[0]['seq']} to {mine[-1]['seq']}, were kept long enough and are gone"
        log_event(connection, "EXPIRED", text, who=worker, topic=topic)
