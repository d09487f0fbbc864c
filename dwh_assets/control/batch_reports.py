"""What the control store knows of batches and instances, as rows for people."""

from __future__ import annotations

from typing import Any

from dwh_assets.control.batches import unknown_batch
from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql

Row = dict[str, Any]


class BatchReports:
    """Read-only."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def batches(self) -> list[Row]:
        return self.database.fetch(sql("report_batches"))

    def parts(self, batch: str) -> list[Row]:
        """What a batch consists of; an unknown batch is an error with near names."""
        names = [row["name"] for row in self.database.fetch(sql("batch_names"))]
        if batch not in names:
            raise unknown_batch(batch, names)
        return self.database.fetch(sql("report_batch_parts"), batch=batch)

    def instances(self, batch: str, limit: int) -> list[Row]:
        return self.database.fetch(sql("report_batch_instances"), batch=batch, limit=limit)

    def runs(self, topic: str, limit: int = 10) -> list[Row]:
        """The newest instances of a topic, with their three codes."""
        return self.database.fetch(sql("report_instances"), topic=topic, limit=limit)
