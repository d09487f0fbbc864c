"""States of a table that its folder still holds, whatever the catalog says: metadata files, their snapshots, their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyarrow.fs import FileSelector, FileType
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from dwh_assets.warehouse.branches import EXECUTION, point, remove
from dwh_assets.warehouse.catalog import MAIN, Catalog
from dwh_assets.warehouse.publish import Pointer

UNREADABLE = (OSError, ValueError, EOFError, LookupError, AssertionError, ValidationError)
CHOSEN = "reconciled"
SUFFIX = ".metadata.json"


@dataclass(frozen=True)
class State:
    """What readers would see of a table: one snapshot of one metadata file, with the executions that led to it."""

    table: str
    location: str
    snapshot_id: int
    executions: frozenset[int]
    is_head: bool
    loaded: Table = field(repr=False, compare=False)


def states(catalog: Catalog, table: str, pointer: str) -> Iterator[State]:
    """The states that the folder holds: those of the metadata that the catalog names, then of the newest file, and so on."""
    named = _load(catalog, pointer)
    if named is not None:
        yield from _line(table, named)
    for other in _newest_first(catalog, pointer):
        yield from _line(table, other)


def newer(catalog: Catalog, table: str, pointer: str) -> list[State]:
    """Heads of metadata files that were made from the one that the catalog names, the newest first."""
    made = [
        other for other in _newest_first(catalog, pointer) if any(e.metadata_file == pointer for e in other.metadata.metadata_log)
    ]
    return [state for other in made for state in _line(table, other) if state.is_head]


def is_whole(state: State) -> bool:
    """Every file of the snapshot is there."""
    try:
        tasks = state.loaded.scan(snapshot_id=state.snapshot_id).plan_files()
        return all(state.loaded.io.new_input(task.file.file_path).exists() for task in tasks)
    except UNREADABLE:
        return False


def rows_of(state: State) -> dict[tuple[int, int], int]:
    """(block, execution) -> rows."""
    counted: Counter[tuple[int, int]] = Counter()
    scan = state.loaded.scan(snapshot_id=state.snapshot_id, selected_fields=("_block", "_execution"))
    for batch in scan.to_arrow_batch_reader():
        counted.update(zip(batch.column("_block").to_pylist(), batch.column("_execution").to_pylist(), strict=True))
    return dict(counted)


def next_state(catalog: Catalog, state: State, pointer: str) -> Pointer:
    """Write the metadata in which readers see this state; the catalog does not name it yet. Branches of attempts go."""
    metadata = state.loaded.metadata
    # Only snapshots that a ref names are at hand when metadata is written: this one may lie behind main.
    ref = SnapshotRef.model_validate({"snapshot-id": state.snapshot_id, "type": SnapshotRefType.BRANCH})
    named = metadata.model_copy(update={"refs": {**metadata.refs, CHOSEN: ref}})
    table = Table(tuple(state.table.split(".")), named, state.location, state.loaded.io, catalog.sql)
    branches = [remove(name) for name in table.refs() if name != MAIN]
    written = catalog.sql.write_metadata(table, (point(MAIN, state.snapshot_id), *branches))
    namespace, _, name = state.table.rpartition(".")
    return Pointer(state.table, namespace, name, pointer, written.metadata_location, state.snapshot_id)


def _line(table: str, loaded: Table) -> Iterator[State]:
    """The head and the snapshots before it, newest first."""
    line = []
    snapshot = loaded.current_snapshot()
    while snapshot is not None:
        line.append(snapshot)
        snapshot = loaded.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
    for number, found in enumerate(line):
        executions = frozenset(execution for one in line[number:] for execution in _execution(one))
        yield State(table, loaded.metadata_location, found.snapshot_id, executions, number == 0, loaded)


def _execution(snapshot: Snapshot) -> list[int]:
    name = (snapshot.summary.additional_properties if snapshot.summary else {}).get(EXECUTION)
    return [int(name)] if name else []


def _newest_first(catalog: Catalog, pointer: str) -> list[Table]:
    """Every other readable metadata file beside this one."""
    io = load_file_io(catalog.sql.properties, pointer)
    assert isinstance(io, PyArrowFileIO)
    folder = pointer.rpartition("/")[0]
    scheme, netloc, path = PyArrowFileIO.parse_location(folder)
    listed = io.fs_by_scheme(scheme, netloc).get_file_info(FileSelector(path, allow_not_found=True))
    names = [info.base_name for info in listed if info.type == FileType.File and info.base_name.endswith(SUFFIX)]
    found = [_load(catalog, f"{folder}/{name}") for name in names if f"{folder}/{name}" != pointer]
    return sorted((table for table in found if table is not None), key=_age, reverse=True)


def _age(table: Table) -> tuple[int, str]:
    return table.metadata.last_updated_ms, table.metadata_location


def _load(catalog: Catalog, location: str) -> Table | None:
    try:
        return StaticTable.from_metadata(location, dict(catalog.sql.properties))
    except UNREADABLE:
        return None
