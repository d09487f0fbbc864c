"""What files say without being read: rows, nulls and bounds from the manifests of a table or of a branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyiceberg.types as ice
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from dwh_assets.model.errors import SourceError, StagedAgain
from dwh_assets.warehouse.bounds import Value, exact_bound, has_exact_bounds
from dwh_assets.warehouse.branches import Fork
from dwh_assets.warehouse.catalog import Catalog


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
    file: DataFile = field(repr=False, compare=False)


@dataclass(frozen=True)
class Staged:
    """What an attempt has put on its branch. After a merge or delete the rewritten rows are counted too."""

    rows: int
    bytes: int
    nulls: dict[str, int]
    lower: dict[str, Value]
    upper: dict[str, Value]
    only_appends: bool
    tip: int
    added: tuple[FileStat, ...] = field(repr=False)

    @property
    def files(self) -> int:
        return len(self.added)


def staged(catalog: Catalog, fork: Fork) -> Staged:
    """Exact figures of the branch, from the manifests that its own snapshots added: no scan, no JVM."""
    table = catalog.load(fork.table)
    ref = table.refs().get(fork.branch)
    own = None if ref is None else _between(table, fork.snapshot_id, ref.snapshot_id)
    if ref is None or own is None:
        raise StagedAgain(
            f"table {fork.table}: the branch {fork.branch} is gone, or no longer descends from the snapshot it was forked from.\n"
            "Nothing was published; the block is staged again on a new branch."
        )
    with catalog.asking(fork.table):
        files = tuple(_added_by(catalog, table, own))
    return Staged(
        rows=sum(file.rows for file in files),
        bytes=sum(file.bytes for file in files),
        nulls=_sums(files),
        lower=_extreme(files, "lower"),
        upper=_extreme(files, "upper"),
        only_appends=all(_operation(snapshot) == Operation.APPEND for snapshot in own),
        tip=ref.snapshot_id,
        added=files,
    )


def data_files(catalog: Catalog, table: str, snapshot_id: int) -> list[FileStat]:
    """Every data file of the table as of the snapshot."""
    loaded = catalog.load(table)
    with catalog.asking(table):
        entries = _entries(catalog, _data_manifests(loaded, snapshot_of_id(loaded, snapshot_id)))
        return [_stat(entry.data_file, loaded.schema()) for entry in entries]


def snapshot_of_id(table: Table, snapshot_id: int) -> Snapshot:
    snapshot = table.snapshot_by_id(snapshot_id)
    if snapshot is None:
        raise SourceError(
            f"table {'.'.join(table.name())}: snapshot {snapshot_id} has expired, so the table cannot be read as it was then.\n"
            "Nothing was read. The next attempt reads the newest snapshot."
        )
    return snapshot


def _between(table: Table, since: int, until: int) -> list[Snapshot] | None:
    """The snapshots after `since` up to `until`, newest first; None if the line of parents does not lead there."""
    found = []
    current: int | None = until
    while current is not None and current != since:
        snapshot = table.snapshot_by_id(current)
        if snapshot is None:
            return None
        found.append(snapshot)
        current = snapshot.parent_snapshot_id
    return found if current == since else None


def _added_by(catalog: Catalog, table: Table, snapshots: list[Snapshot]) -> Iterator[FileStat]:
    """Files that these snapshots, newest first, added and that are still there at the newest."""
    if not snapshots:
        return
    ids = {snapshot.snapshot_id for snapshot in snapshots}
    # An append may merge older manifests into its own: what counts is who added the entry, not who wrote the manifest.
    manifests = [m for m in _data_manifests(table, snapshots[0]) if m.added_snapshot_id in ids]
    for entry in _entries(catalog, manifests):
        if entry.snapshot_id in ids:
            yield _stat(entry.data_file, table.schema())


def _data_manifests(table: Table, snapshot: Snapshot) -> list[ManifestFile]:
    return [manifest for manifest in snapshot.manifests(table.io) if manifest.content == ManifestContent.DATA]


def _entries(catalog: Catalog, manifests: Iterable[ManifestFile]) -> Iterator[ManifestEntry]:
    for manifest in manifests:
        yield from catalog.entries(manifest)


def _operation(snapshot: Snapshot) -> Operation | None:
    return snapshot.summary.operation if snapshot.summary else None


def _stat(file: DataFile, schema: Schema) -> FileStat:
    return FileStat(
        path=file.file_path,
        rows=file.record_count,
        bytes=file.file_size_in_bytes,
        lower=_bounds(file.lower_bounds, schema),
        upper=_bounds(file.upper_bounds, schema),
        nulls=_nulls(file, schema),
        partition=tuple(file.partition[i] for i in range(len(file.partition))),
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


def _sums(files: tuple[FileStat, ...]) -> dict[str, int]:
    """Null counts of the columns that every file has counted."""
    names = set.intersection(*(set(file.nulls) for file in files)) if files else set[str]()
    return {name: sum(file.nulls[name] for file in files) for name in sorted(names)}


def _extreme(files: tuple[FileStat, ...], side: str) -> dict[str, Any]:
    best = min if side == "lower" else max
    found: dict[str, Any] = {}
    for file in files:
        for name, value in getattr(file, side).items():
            found[name] = best(found[name], value) if name in found else value
    return found
