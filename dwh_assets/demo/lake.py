"""The shop's outside Iceberg tables: files that other systems drop, each append marked with how far it reaches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from dwh_assets.demo.shop import Row
from dwh_assets.demo.streams import Kind, Stream
from dwh_assets.model.errors import SourceError
from dwh_assets.warehouse.catalog import Catalog

if TYPE_CHECKING:
    from pyiceberg.table import Table

FED_UPTO = "demo.fed-upto"
SNAPSHOTS = 400  # an hour and more of a stream that arrives every ten seconds
_TYPES: dict[Kind, pa.DataType] = {
    "instant": pa.timestamp("us", tz="UTC"),
    "bigint": pa.int64(),
    "integer": pa.int32(),
    "text": pa.string(),
    "money": pa.decimal128(10, 2),
}
# An append every few seconds, for weeks: manifests are merged and old metadata files deleted as it goes.
_PROPERTIES = {
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


class Lake:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def prepare(self, streams: tuple[Stream, ...]) -> None:
        """Create the tables that are missing."""
        for stream in streams:
            with self._catalog.asking(stream.name):
                self._catalog.sql.create_namespace_if_not_exists(stream.name.split(".")[0])
                self._catalog.sql.create_table_if_not_exists(stream.name, _schema(stream), properties=_PROPERTIES)

    def fed_upto(self, stream: Stream) -> datetime | None:
        return _fed_upto(self._catalog.load(stream.name), stream)

    def write(self, stream: Stream, upto: datetime, rows_since: Callable[[datetime | None], list[Row]]) -> int:
        """Append what arrived since the last time, if anything did. Rows and `upto` are one snapshot: both or neither."""
        table = self._catalog.load(stream.name)
        rows = rows_since(_fed_upto(table, stream))
        if rows:
            with self._catalog.asking(stream.name):
                table.append(_arrow(stream, rows), snapshot_properties={FED_UPTO: upto.isoformat()})
                _forget_old_snapshots(table)
        return len(rows)


def _forget_old_snapshots(table: Table) -> None:
    """Every append copies all that the metadata lists: without an end to it, a demo that runs for days does nothing else."""
    snapshots = sorted(table.snapshots(), key=lambda snapshot: snapshot.timestamp_ms)
    if len(snapshots) > SNAPSHOTS:
        old = [snapshot.snapshot_id for snapshot in snapshots[: -SNAPSHOTS // 2]]
        table.maintenance.expire_snapshots().by_ids(old).commit()


def _fed_upto(table: Table, stream: Stream) -> datetime | None:
    """The newest mark on the way back from the head: a compaction writes snapshots without one."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        return None
    while snapshot is not None:
        if snapshot.summary is not None and (mark := snapshot.summary.get(FED_UPTO)):
            return datetime.fromisoformat(mark)
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None
    raise SourceError(
        f"{stream.name}: none of its snapshots says how far it was fed, so appending could double its rows.\n"
        "Nothing was written. Its snapshots were expired or rewritten by another tool: start a new demo in another DWH_HOME."
    )


def _schema(stream: Stream) -> pa.Schema:
    return pa.schema([pa.field(name, _TYPES[kind], nullable=name not in stream.position) for name, kind in stream.columns])


def _arrow(stream: Stream, rows: list[Row]) -> pa.Table:
    schema = _schema(stream)
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)
