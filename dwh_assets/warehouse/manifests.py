"""What files say without being read: rows, nulls and bounds from the manifests of a table or of a branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from dwh_assets.model.errors import SourceError, StagedAgain
from dwh_assets.warehouse.bounds import Value
from dwh_assets.warehouse.branches import Fork
from dwh_assets.warehouse.catalog import Catalog, sound
from dwh_assets.warehouse.file_stats import FileStat


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
        lower=extreme(files, "lower"),
        upper=extreme(files, "upper"),
        only_appends=all(_operation(snapshot) == Operation.APPEND for snapshot in own),
        tip=ref.snapshot_id,
        added=files,
    )


def data_files(catalog: Catalog, table: str, snapshot_id: int) -> list[FileStat]:
    """Every data file of the table as of the snapshot."""
    loaded = catalog.load(table)
    with catalog.asking(table):
        return list(_files(catalog, loaded, _data_manifests(loaded, snapshot_of_id(loaded, snapshot_id))))


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
    yield from (file for file in _files(catalog, table, manifests) if file.added_by in ids)


def _data_manifests(table: Table, snapshot: Snapshot) -> list[ManifestFile]:
    with sound(snapshot.manifest_list):
        return [manifest for manifest in snapshot.manifests(table.io) if manifest.content == ManifestContent.DATA]


def _files(catalog: Catalog, table: Table, manifests: Iterable[ManifestFile]) -> Iterator[FileStat]:
    for manifest in manifests:
        yield from catalog.files(table, manifest)


def _operation(snapshot: Snapshot) -> Operation | None:
    return snapshot.summary.operation if snapshot.summary else None


def _sums(files: tuple[FileStat, ...]) -> dict[str, int]:
    """Null counts of the columns that every file has counted."""
    names = set.intersection(*(set(file.nulls) for file in files)) if files else set[str]()
    return {name: sum(file.nulls[name] for file in files) for name in sorted(names)}


def extreme(files: Sequence[FileStat], side: str) -> dict[str, Any]:
    best = min if side == "lower" else max
    found: dict[str, Any] = {}
    for file in files:
        for name, value in getattr(file, side).items():
            found[name] = best(found[name], value) if name in found else value
    return found
