"""Old rows of the control store are deleted, a few at a time, so that nobody waits; what anything refers to stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dwh_assets.control.database import Database, one
from dwh_assets.control.statements import sql

BATCH = 1000
EVENTS_BATCH = 50_000  # each removal of events is an event itself, and nobody waits for one
# In this order: what refers to others goes before them. Events are kept longest, by an age of their own.
HISTORY = ("executions", "blocks", "alerts", "requests", "workers", "batch_instances", "maintenance")
EVENTS = "events"


class PruneStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def prune(self, kind: str, before: datetime, rehearsal: bool = False, told: Callable[[int], None] = lambda n: None) -> int:
        """Delete what is older; returns how many. `told` hears of each batch."""
        if rehearsal:
            return self._batch(kind, before, None, rehearsal=True)
        total = 0
        most = EVENTS_BATCH if kind == EVENTS else BATCH
        while found := self._batch(kind, before, most, rehearsal=False):
            total += found
            told(total)
        return total

    def _batch(self, kind: str, before: datetime, limit: int | None, *, rehearsal: bool) -> int:
        with self.database.transaction() as connection:
            asked = {"before": before, "limit": limit, "rehearsal": rehearsal}
            return one(connection.execute(sql(f"prune_{kind}"), asked))["found"]
