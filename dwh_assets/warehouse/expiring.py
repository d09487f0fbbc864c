"""Expiry of snapshots: what nobody reads any more leaves a table's history. Files are not touched here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import pairwise

from pyiceberg.table import Table

from dwh_assets.warehouse.catalog import MAIN, Catalog


def expire(
    catalog: Catalog, table: str, before: datetime, most: int, needed: Callable[[], Iterable[int]], rehearsal: bool = False
) -> tuple[int, int]:
    """Forget the snapshots that ceased to be current before a moment, and the oldest where there are more than `most`, but for
    those in need; how many went and how many stay."""

    def act(loaded: Table) -> tuple[int, int]:
        # The table first, then who needs it: what an attempt begins to read in between is current, or was a moment ago.
        gone = (outlived(loaded, before) | surplus(loaded, most)) - set(needed())
        if gone and not rehearsal:
            catalog.sql.forget_snapshots(loaded, gone)
        return len(gone), len(loaded.metadata.snapshots) - len(gone)

    return catalog.change(table, act)


def outlived(table: Table, before: datetime) -> set[int]:
    """Snapshots that were replaced as the current one before a moment, and that no branch needs.

    Not those made before it: a quiet table's head may be old, and yet have been read a second ago.
    """
    limit = before.timestamp() * 1000
    ended = _ended(table)
    kept = _of_refs(table)
    return {s.snapshot_id for s in table.metadata.snapshots if ended.get(s.snapshot_id, s.timestamp_ms) < limit} - kept


def surplus(table: Table, most: int) -> set[int]:
    """The oldest of more than `most` snapshots, but those that a branch needs: each commit writes what is known of all."""
    return {snapshot.snapshot_id for snapshot in table.metadata.snapshots[:-most]} - _of_refs(table)


def _ended(table: Table) -> dict[int, int]:
    """When each snapshot of the log ceased to be current. One that is not in it never was, or long ago: its own time counts."""
    log = table.metadata.snapshot_log
    return {entry.snapshot_id: after.timestamp_ms for entry, after in pairwise(log)}


def _of_refs(table: Table) -> set[int]:
    """The head, every branch, and the way of each branch back to where it left main: publishing it walks that way."""
    refs = {name: ref.snapshot_id for name, ref in table.refs().items()}
    main = set(_ancestors(table, refs[MAIN])) if MAIN in refs else set[int]()
    kept = set(refs.values())
    for tip in refs.values():
        for snapshot in _ancestors(table, tip):
            kept.add(snapshot)
            if snapshot in main:
                break
    return kept


def _ancestors(table: Table, tip: int) -> Iterable[int]:
    snapshot = table.snapshot_by_id(tip)
    while snapshot is not None:
        yield snapshot.snapshot_id
        snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
