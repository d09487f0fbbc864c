"""Which snapshots have appended rows to a table since one of them, and when each was committed."""

from __future__ import annotations

from datetime import UTC, datetime

from pyiceberg.table.snapshots import Operation, Snapshot

from dwh_assets.warehouse.catalog import Catalog


def appended_since(catalog: Catalog, table: str, since: int | None) -> dict[int, datetime]:
    """By snapshot, the newest first. One that rewrites files brings no rows. Where `since` has expired, all that are left came
    after it."""
    loaded = catalog.load(table)
    found: dict[int, datetime] = {}
    snapshot: Snapshot | None = loaded.current_snapshot()
    while snapshot is not None and snapshot.snapshot_id != since:
        if snapshot.summary is not None and snapshot.summary.operation == Operation.APPEND:
            found[snapshot.snapshot_id] = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else loaded.snapshot_by_id(parent)
    return found
