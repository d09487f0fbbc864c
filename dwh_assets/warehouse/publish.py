"""The next metadata of a table: a branch becomes main in a file, which counts once the commit's transaction points to it.

With sql_catalog.py the only module that knows private parts of pyiceberg; the pin in pyproject.toml is there for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.exceptions import ValidationException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import load_file_io
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from dwh_assets.model.errors import StagedAgain
from dwh_assets.warehouse.branches import EXECUTION, Fork, head_of, point, remove
from dwh_assets.warehouse.catalog import MAIN, Catalog
from dwh_assets.warehouse.manifests import Staged
from dwh_assets.warehouse.sql_catalog import without_past
from dwh_assets.warehouse.swapping import Swap

MAINTENANCE = "dwh.maintenance"  # the snapshot property that names the job which exchanged files


@dataclass(frozen=True)
class Pointer:
    """A metadata file that waits for the catalog to point to it, where it still points to `old_location`."""

    table: str
    namespace: str
    name: str
    old_location: str
    new_location: str
    snapshot_id: int  # main's head once it counts
    written: tuple[str, ...] = ()  # files that only the new metadata refers to
    outdated: tuple[str, ...] = ()  # metadata files that have left the log with it


def next_metadata(catalog: Catalog, fork: Fork, staged: Staged) -> Pointer:
    """Write the metadata in which the branch's rows are main's and the branch is gone. Readers see nothing of it yet.

    Head still at the fork: main moves to the branch's tip, whatever the branch did. Head moved and the branch only
    appended: its files are appended to the new head. Else the attempt must stage again.
    """
    with catalog.asking(fork.table):
        table = catalog.load(fork.table)
        _require_tip(table, fork, staged.tip)
        if head_of(table) == fork.snapshot_id:
            updates, written = (point(MAIN, staged.tip),), ()
        elif not staged.only_appends:
            raise StagedAgain(
                f"table {fork.table}: main moved from snapshot {fork.snapshot_id} while {fork.branch} replaced rows of it.\n"
                "Nothing was published and no data was lost; the block is staged again from the new head.\n"
                "If this repeats, another writer works on this table without taking its lease."
            )
        else:
            updates, written = _append_to_head(table, fork, staged)
        return _write(catalog, table, (*updates, remove(fork.branch)), written)


def next_swap(catalog: Catalog, swap: Swap) -> Pointer:
    """Write the metadata in which the new files of a branch stand for the old ones and the branch is gone.

    Head still at the fork: main moves to the branch's tip. Head moved: the files are exchanged on the new head, if it still has
    all the old ones; else rows were replaced meanwhile, and the rewrite is of no use any more.
    """
    with catalog.asking(swap.fork.table):
        table = catalog.load(swap.fork.table)
        _require_tip(table, swap.fork, swap.tip)
        if head_of(table) == swap.fork.snapshot_id:
            updates, written = (point(MAIN, swap.tip),), ()
        else:
            updates, written = _exchange(table, swap)
        return _write(catalog, table, (*updates, remove(swap.fork.branch)), written)


def discard(pointer: Pointer) -> None:
    """Delete the files of a pointer that was not taken up. Only when that is certain: after a lost reply it is not (R8)."""
    _delete((pointer.new_location, *pointer.written))


def sweep(pointer: Pointer) -> None:
    """Delete the metadata files that a published pointer left behind, as each commit of Iceberg's own does."""
    _delete(pointer.outdated)


def snapshot_of(catalog: Catalog, table: str) -> int:
    """The snapshot that readers of the table see now."""
    return head_of(catalog.load(table))


def executions_on_main(catalog: Catalog, table: str) -> set[int]:
    """The executions whose snapshots readers can reach, as far back as the table's history goes."""
    loaded = catalog.load(table)
    snapshot = loaded.current_snapshot()
    found: set[int] = set()
    while snapshot is not None:
        name = (snapshot.summary.additional_properties if snapshot.summary else {}).get(EXECUTION)
        found |= {int(name)} if name else set()
        snapshot = loaded.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
    return found


def _require_tip(table: Table, fork: Fork, tip: int) -> None:
    # A writer that outlived its attempt (R4) may have written after the checks: only what was checked is published.
    ref = table.refs().get(fork.branch)
    if ref is None or ref.snapshot_id != tip:
        raise StagedAgain(
            f"table {fork.table}: the branch {fork.branch} is {'gone' if ref is None else 'no longer what was checked'}.\n"
            "Nothing was published; the block is staged again on a new branch."
        )


def _append_to_head(table: Table, fork: Fork, staged: Staged) -> tuple[tuple[TableUpdate, ...], tuple[str, ...]]:
    if not staged.added:
        return (), ()
    if any(file.file.spec_id != table.spec().spec_id for file in staged.added):
        raise StagedAgain(
            f"table {fork.table}: its partitioning changed after {fork.branch} was forked.\n"
            "Nothing was published; the block is staged again with the new partitioning."
        )
    append = _light(table).update_snapshot({EXECUTION: fork.branch[1:]}).fast_append()
    for file in staged.added:
        append.append_data_file(file.file)
    updates, _ = append._commit()
    return updates, (*append._written_manifests, *append._written_manifest_lists)


def _exchange(table: Table, swap: Swap) -> tuple[tuple[TableUpdate, ...], tuple[str, ...]]:
    overwrite = _light(table).update_snapshot({MAINTENANCE: swap.fork.branch[1:]}).overwrite()
    if table.spec().is_unpartitioned():
        overwrite.delete_by_predicate(AlwaysTrue())  # left to itself it looks into the manifests of no partition at all
    for file in swap.removed:
        overwrite.delete_data_file(file.file)
    for file in swap.added:
        overwrite.append_data_file(file.file)
    try:
        updates, _ = overwrite._commit()
    except ValidationException:
        raise StagedAgain(
            f"table {swap.fork.table}: rows that {swap.fork.branch} has rewritten were replaced meanwhile.\n"
            "Nothing was published and no data was lost; they are rewritten in a later round."
        ) from None
    return updates, (*overwrite._written_manifests, *overwrite._written_manifest_lists)


def _light(table: Table) -> Transaction:
    return Transaction(Table(table.name(), without_past(table.metadata), table.metadata_location, table.io, table.catalog))


def _write(catalog: Catalog, table: Table, updates: tuple[TableUpdate, ...], written: tuple[str, ...]) -> Pointer:
    staged = catalog.sql.write_metadata(table, updates)
    *namespace, name = table.name()
    return Pointer(
        table=".".join(table.name()),
        namespace=".".join(namespace),
        name=name,
        old_location=table.metadata_location,
        new_location=staged.metadata_location,
        snapshot_id=staged.metadata.refs[MAIN].snapshot_id,
        written=written,
        outdated=_left_log(table.metadata, staged.metadata),
    )


def _left_log(old: TableMetadata, new: TableMetadata) -> tuple[str, ...]:
    kept = {entry.metadata_file for entry in new.metadata_log}
    return tuple(entry.metadata_file for entry in old.metadata_log if entry.metadata_file not in kept)


def _delete(paths: tuple[str, ...]) -> None:
    for path in paths:
        io = load_file_io({}, path)
        if io.new_input(path).exists():
            io.delete(path)
