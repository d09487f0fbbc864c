"""About how many rows of a source wait behind a position, without reading them: from statistics that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dwh_assets.model.position import Position
from dwh_assets.sources.cutting import FileRange
from dwh_assets.sources.files import TableFiles
from dwh_assets.sources.iceberg import IcebergSource
from dwh_assets.sources.postgres.source import PostgresSource
from dwh_assets.sources.rows import micros
from dwh_assets.sources.source import Source


def rows_waiting(source: Source, last: Position, upto: datetime, shard: str | None = None) -> int:
    """Of a table: by the row counts and bounds of its files. Of Postgres: by its planner. Of events: what no block holds yet."""
    if isinstance(source, PostgresSource):
        return source.about(last, upto, shard)
    if not isinstance(source, IcebergSource):
        return source.observe(datetime.now(UTC)).pending
    snapshot = source.snapshot()
    if snapshot is None:
        return 0
    files = TableFiles(source.catalog, source.table, source.position, source.shard_by, shard, snapshot)
    return about(files.ranges(), micros(last.pos), micros(upto))


def about(files: Sequence[FileRange], last: int, upto: int) -> int:
    """Files that lie wholly in the range count in full, others by the share of their span: as if their rows lay evenly."""
    return round(sum(file.rows * _share(file, last, upto) for file in files))


def _share(file: FileRange, last: int, upto: int) -> float:
    if file.lower is None or file.upper is None:
        return 1.0
    low, high = max(file.lower, last + 1), min(file.upper, upto)
    return 0.0 if low > high else (high - low + 1) / (file.upper - file.lower + 1)
