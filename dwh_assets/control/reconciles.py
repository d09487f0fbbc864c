"""The one act that brings the control store to what the tables hold: pointers, numbers and the blocks to take back, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dwh_assets.control.acts import require_reason
from dwh_assets.control.claims import lock_topic
from dwh_assets.control.commits import Pointer, publish_pointers
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql

Row = dict[str, Any]


@dataclass(frozen=True)
class TakeBack:
    """Blocks of a topic, from the first that its table lacks to the end, or the newest of a table that is rebuilt as a whole."""

    topic: str
    kind: str
    first: int
    last: int
    text: str


class ReconcileStore:
    def __init__(self, database: Database, who: str) -> None:
        self.database = database
        self.who = who

    def pointers(self) -> dict[str, str]:
        return {row["name"]: row["location"] for row in self.database.fetch(sql("table_locations"))}

    def ledger(self, table: str) -> list[Row]:
        """What the ledger says a table holds, by block and in order."""
        return self.database.fetch(sql("ledger_to_reconcile"), table=table)

    def succeeded(self, executions: Sequence[int]) -> bool:
        return not self.database.fetch(sql("executions_not_succeeded"), ids=sorted(executions))

    def was_restored(self) -> bool:
        return bool(self.database.fetch("select from dwh.event_log where code = 'RESTORED' limit 1"))

    def reconcile(self, pointers: Sequence[Pointer], back: Sequence[TakeBack], greatest: tuple[int, int], reason: str) -> None:
        """Logged first, then all of it or nothing. What is to be taken back is stored, so that it survives whatever dies next."""
        require_reason("reconcile", "the warehouse", reason)
        with self.database.transaction() as connection:
            log_event(connection, "RECONCILE", reason, who=self.who, kind="act")
            publish_pointers(connection, pointers)
            # Rows of blocks that this store never knew may still lie in files: no new block may get their number.
            connection.execute(sql("raise_numbers"), {"block": greatest[0], "execution": greatest[1]})
            for pointer in pointers:
                name = f"{pointer.namespace}.{pointer.name}"
                log_event(connection, "RECONCILE", f"table {name} is read at {pointer.new_location}", who=self.who, kind="act")
                connection.execute(sql("raise_generation"), {"target": name})
            for one in back:
                topic = lock_topic(connection, one.topic)
                log_event(connection, one.kind.upper(), f"{one.text}: {reason}", who=self.who, kind="act", topic=one.topic)
                connection.execute(sql("raise_token"), {"topic_id": topic["id"]})
                connection.execute(sql("abort_running_execution"), {"topic_id": topic["id"], "reason": "reconciled"})
                connection.execute(sql("release_topic"), {"topic_id": topic["id"]})
                connection.execute(sql("give_up_restatement"), {"topic_id": topic["id"]})
                asked = {"kind": one.kind, "first": one.first, "last": one.last, "reason": reason, "who": self.who}
                connection.execute(sql("insert_restatement"), {"topic_id": topic["id"], **asked})
