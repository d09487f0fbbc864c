"""What is known of the tables that are not built here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dwh_assets.config.lineage_spec import source_from_spec
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.module import SourceTable

Row = dict[str, Any]


class SourceStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def active(self) -> list[SourceTable]:
        known = [source_from_spec(row["spec"]) for row in self.database.fetch(sql("active_sources"))]
        return [source for source in known if source.active]

    def observations(self) -> list[Row]:
        return self.database.fetch(sql("source_observations"))

    def observed(
        self, name: str, watermark: datetime | None, newest: datetime | None, seen_at: datetime, problem: str | None = None
    ) -> None:
        """What was seen of a source; `problem` says what of it cannot be loaded, while the rest can."""
        if problem is not None:
            self.failed(name, problem)
        seen = {"watermark": watermark, "newest": newest, "seen_at": seen_at}
        self.database.execute(sql("observe_source"), name=name, problem=problem, **seen)

    def failed(self, name: str, problem: str) -> None:
        """Keep the reason; it is logged once, not at every tick."""
        with self.database.transaction() as connection:
            if connection.execute(sql("fail_observation"), {"name": name, "problem": problem}).fetchone():
                log_event(connection, "OBSERVE", f"source {name}: {problem}", who="tick")
