"""What has arrived in an Iceberg table since a snapshot: the files that were appended, and when each was committed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dwh_assets.sources.files import TableFiles
from dwh_assets.sources.iceberg import IcebergSource
from dwh_assets.sources.source import Source
from dwh_assets.warehouse.arriving import appended_since


@dataclass(frozen=True)
class Arrival:
    """One file: how many rows, between which positions, and when they became visible."""

    rows: int
    lower: datetime
    upper: datetime
    committed_at: datetime


@dataclass(frozen=True)
class Arrivals:
    """`newest` is the greatest position that the table holds."""

    head: int
    newest: datetime | None
    files: list[Arrival]


def arrivals(source: Source, since: int | None) -> Arrivals | None:
    """The files that snapshots after `since` have appended and that are still there; None where there is nothing new to tell."""
    if not isinstance(source, IcebergSource):
        return None
    head = source.snapshot()
    if head is None or head == since:
        return None
    times = appended_since(source.catalog, source.table, since)
    files = TableFiles(source.catalog, source.table, source.position, source.shard_by, None, head).all()
    known = [(file, file.lower.get(source.position[0]), file.upper.get(source.position[0])) for file in files]
    bounded = [(f, low, high) for f, low, high in known if isinstance(low, datetime) and isinstance(high, datetime)]
    fresh = [Arrival(f.rows, low, high, times[f.added_by]) for f, low, high in bounded if f.added_by in times]
    return Arrivals(head, max((high for _, _, high in bounded), default=None), fresh)
