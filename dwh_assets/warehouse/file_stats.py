"""What one data file says of itself in its manifest: rows, nulls and bounds, by the names of the table's columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyiceberg.types as ice
from pyiceberg.manifest import DataFile, ManifestEntry
from pyiceberg.schema import Schema

from dwh_assets.warehouse.bounds import Value, exact_bound, has_exact_bounds


@dataclass(frozen=True)
class FileStat:
    """One data file. Bounds are kept where they are exact (not for text); nulls where they are counted (not in lists, maps)."""

    path: str
    rows: int
    bytes: int
    lower: dict[str, Value]
    upper: dict[str, Value]
    nulls: dict[str, int]
    partition: tuple[Value, ...]
    added_by: int | None  # the snapshot
    file: DataFile = field(repr=False, compare=False)


def file_stat(entry: ManifestEntry, schema: Schema) -> FileStat:
    file = entry.data_file
    return FileStat(
        path=file.file_path,
        rows=file.record_count,
        bytes=file.file_size_in_bytes,
        lower=_bounds(file.lower_bounds, schema),
        upper=_bounds(file.upper_bounds, schema),
        nulls=_nulls(file, schema),
        partition=tuple(file.partition[i] for i in range(len(file.partition))),
        added_by=entry.snapshot_id,
        file=file,
    )


def _bounds(raw: dict[int, bytes] | None, schema: Schema) -> dict[str, Value]:
    found = {}
    for field_id, value in (raw or {}).items():
        name = schema.find_column_name(field_id)
        type_ = schema.find_type(field_id) if name else None
        if name and isinstance(type_, ice.PrimitiveType) and has_exact_bounds(type_):
            found[name] = exact_bound(type_, value)
    return found


def _nulls(file: DataFile, schema: Schema) -> dict[str, int]:
    named = ((schema.find_column_name(field_id), count) for field_id, count in (file.null_value_counts or {}).items())
    return {name: count for name, count in named if name}
