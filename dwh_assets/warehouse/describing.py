"""What a table says of itself without being read: its columns, and what its files add up to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyiceberg.table import Table

from dwh_assets.model.column import TableColumn
from dwh_assets.warehouse.bounds import Value
from dwh_assets.warehouse.catalog import MAIN, Catalog
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files, extreme
from dwh_assets.warehouse.schemas import sql_type


@dataclass(frozen=True)
class Partition:
    name: str
    rows: int = 0
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Holding:
    """What a table holds at its head, from the manifests: exact, and no file is opened."""

    rows: int
    files: int
    bytes: int
    snapshots: int
    branches: int
    changed_at: datetime | None
    partitioned_by: str
    partitions: list[Partition]
    nulls: dict[str, int]
    lower: dict[str, Value] = field(default_factory=dict)
    upper: dict[str, Value] = field(default_factory=dict)


def columns_of(catalog: Catalog, name: str) -> list[TableColumn]:
    schema = catalog.load(name).schema()
    keys = set(schema.identifier_field_ids)
    return [TableColumn(f.name, sql_type(f.field_type), f.doc or "", f.required, f.field_id in keys) for f in schema.fields]


def holding_of(catalog: Catalog, name: str) -> Holding:
    table = catalog.load(name)
    head = table.current_snapshot()
    files = [] if head is None else data_files(catalog, name, head.snapshot_id)
    return Holding(
        rows=sum(file.rows for file in files),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        snapshots=len(table.metadata.snapshots),
        branches=sum(1 for ref in table.refs() if ref != MAIN),
        changed_at=None if head is None else datetime.fromtimestamp(head.timestamp_ms / 1000, UTC),
        partitioned_by=", ".join(part.name for part in table.spec().fields),
        partitions=_partitions(table, files),
        nulls=_nulls(files),
        lower=extreme(files, "lower"),
        upper=extreme(files, "upper"),
    )


def _partitions(table: Table, files: list[FileStat]) -> list[Partition]:
    """In the order of their values; a table that is not partitioned has none."""
    found: dict[tuple[Value, ...], Partition] = defaultdict(lambda: Partition(""))
    for file in files if table.spec().fields else ():
        before = found[file.partition]
        found[file.partition] = Partition(
            _name(table, file.partition), before.rows + file.rows, before.files + 1, before.bytes + file.bytes
        )
    return [found[key] for key in sorted(found, key=lambda values: tuple((value is None, value) for value in values))]


def _name(table: Table, values: tuple[Value, ...]) -> str:
    """As Iceberg shows it: a day is kept as its number."""
    parts = zip(table.spec().fields, values, strict=False)
    return ", ".join(part.transform.to_human_string(table.schema().find_type(part.source_id), value) for part, value in parts)


def _nulls(files: list[FileStat]) -> dict[str, int]:
    names = {name for file in files for name in file.nulls}
    # A file from before a column was added counts nothing for it: all its rows are null there.
    return {name: sum(file.nulls.get(name, file.rows) for file in files) for name in names}
