"""How late the rows of each source came: counted once, kept by day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql

Row = dict[str, Any]
KEPT_DAYS = 35


class LatenessStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def seen(self) -> dict[str, Row]:
        """How far each source was observed."""
        return {row["source"]: row for row in self.database.fetch(sql("lateness_seen"))}

    def begin(self, source: str, snapshot: int | None, changed_at: datetime | None, passed: datetime | None) -> None:
        """What is there already is not counted: nobody saw when it became visible."""
        values = {"source": source, "snapshot": snapshot, "changed_at": changed_at, "passed": passed}
        self.database.execute(sql("begin_lateness"), **values)

    def note(
        self,
        before: Row,
        snapshot: int | None,
        changed_at: datetime | None,
        passed: datetime | None,
        unit: str,
        counts: Mapping[int, int],
    ) -> bool:
        """Count what appeared since `before`, unless another process was quicker."""
        moved = {"source": before["source"], "snapshot": snapshot, "changed_at": changed_at, "passed": passed}
        guards = {"old_snapshot": before["snapshot_id"], "old_changed_at": before["changed_at"]}
        with self.database.transaction() as connection:
            if connection.execute(sql("move_lateness"), moved | guards).fetchone() is None:
                return False
            for bucket, count in counts.items():
                values = {"source": before["source"], "unit": unit, "bucket": bucket, "count": count}
                connection.execute(sql("add_lateness"), values)
            connection.execute(sql("forget_lateness"), {"source": before["source"], "days": KEPT_DAYS})
        return True

    def add(self, source: str, unit: str, bucket: int, count: int) -> None:
        self.database.execute(sql("add_lateness"), source=source, unit=unit, bucket=bucket, count=count)

    def counts(self, days: int) -> list[Row]:
        """Source, unit, bucket, count: all that was seen in so many days, today included."""
        return self.database.fetch(sql("lateness_counts"), days=days)

    def loads(self, days: int) -> list[Row]:
        """What the blocks of each topic were like in so many days."""
        return self.database.fetch(sql("advice_loads"), days=days)
