"""pyiceberg's catalog, taught three things: a metadata file can be written without being committed, a table's times never run
backwards, and moving a branch does not copy the table's whole history.

Together with publish.py the only place that knows private parts of pyiceberg; the pin in pyproject.toml is there for them.
"""

from __future__ import annotations

from collections.abc import Set
from hashlib import blake2b
from io import BytesIO
from typing import Any, cast

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.io import InputStream, load_file_io
from pyiceberg.serializers import Compressor, FromByteStream
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import RemoveSnapshotsUpdate, TableUpdate
from sqlalchemy import update

from dwh_assets.warehouse.recent import Recent

METADATA = 32 * 1024 * 1024  # bytes of metadata files whose meaning is kept in memory: about six times as many there
NONE: frozenset[int] = frozenset()


class OrderedSqlCatalog(SqlCatalog):
    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self.recent: Recent[tuple[str, str], TableMetadata] = Recent(METADATA)

    def write_metadata(self, table: Table, updates: tuple[TableUpdate, ...], forgotten: Set[int] = NONE) -> StagedTable:
        """Write the metadata that follows from updates of refs and new snapshots; the catalog points to where it did.

        Without the `forgotten` snapshots, which no ref may name.
        """
        slim = Table(table.name(), without_past(table.metadata), table.metadata_location, table.io, self)
        staged = self._update_and_stage_table(slim, table.name(), (), updates)
        staged.metadata = _in_order(table.metadata, _with_past(table.metadata, staged.metadata, forgotten))
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return staged

    def commit_refs(self, table: Table, updates: tuple[TableUpdate, ...], forgotten: Set[int] = NONE) -> None:
        """Write the metadata and point to it, unless another writer committed since the table was loaded."""
        staged = self.write_metadata(table, updates, forgotten)
        *namespace, name = table.name()
        pointed = update(IcebergTables).where(
            IcebergTables.catalog_name == self.name,
            IcebergTables.table_namespace == ".".join(namespace),
            IcebergTables.table_name == name,
            IcebergTables.metadata_location == table.metadata_location,
        )
        new = {"metadata_location": staged.metadata_location, "previous_metadata_location": table.metadata_location}
        with self.engine.begin() as connection:
            moved = connection.execute(pointed.values(**new)).rowcount
        if not moved:
            table.io.delete(staged.metadata_location)
            raise CommitFailedException(f"another writer committed to {'.'.join(table.name())}")
        self._delete_old_metadata(table.io, table.metadata, staged.metadata)

    def forget_snapshots(self, table: Table, forgotten: Set[int]) -> None:
        """Take snapshots out of the table's history; the files they alone refer to become orphans."""
        # An update that removes nothing: it makes a new version, from which the past is left out as a whole.
        self.commit_refs(table, (RemoveSnapshotsUpdate.model_validate({"snapshot-ids": []}),), forgotten)

    def _convert_orm_to_iceberg(self, orm_table: IcebergTables) -> Table:
        """The table at the metadata that the catalog names now. The file is read each time; what it means is kept in memory,
        of each table only the newest: each names the table's whole history."""
        location, name = orm_table.metadata_location, (orm_table.table_namespace, orm_table.table_name)
        if location is None:
            raise NoSuchTableError(f"the catalog names no metadata of {'.'.join(name)}")
        with load_file_io(self.properties, location).new_input(location).open() as file:
            content = file.read()
        state = (location, blake2b(content).digest())
        metadata = self.recent.get(name, state, lambda: _parsed(location, content), lambda _: len(content))
        identifier = (*orm_table.table_namespace.split("."), orm_table.table_name)
        return Table(identifier, metadata, location, self._load_file_io(metadata.properties, location), self)

    def _update_and_stage_table(self, current_table: Table | None, *args: Any, **kwargs: Any) -> StagedTable:
        staged = super()._update_and_stage_table(current_table, *args, **kwargs)
        if current_table is not None:
            staged.metadata = _in_order(current_table.metadata, staged.metadata)
        return staged


def _parsed(location: str, content: bytes) -> TableMetadata:
    compression = Compressor.get_compressor(location)
    return FromByteStream.table_metadata(cast("InputStream", BytesIO(content)), compression=compression)


def without_past(metadata: TableMetadata) -> TableMetadata:
    """The metadata with only the snapshots that a ref names: pyiceberg copies all it is given, deeply, at every step."""
    named = {ref.snapshot_id for ref in metadata.refs.values()}
    snapshots = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in named]
    return metadata.model_copy(update={"snapshots": snapshots, "snapshot_log": []})


def _with_past(old: TableMetadata, new: TableMetadata, forgotten: Set[int]) -> TableMetadata:
    known = {snapshot.snapshot_id for snapshot in old.snapshots}
    added = [snapshot for snapshot in new.snapshots if snapshot.snapshot_id not in known]
    past: dict[str, Any] = {"snapshots": [*old.snapshots, *added], "snapshot_log": [*old.snapshot_log, *new.snapshot_log]}
    return new.model_copy(update=_without(past, new, forgotten) if forgotten else past)


def _without(past: dict[str, Any], new: TableMetadata, forgotten: Set[int]) -> dict[str, Any]:
    """The log begins behind the last snapshot that is forgotten: a gap in it would tell of a history that never was."""
    log = past["snapshot_log"]
    begin = max((n + 1 for n, entry in enumerate(log) if entry.snapshot_id in forgotten), default=0)
    parts = {"snapshots": past["snapshots"], "statistics": new.statistics, "partition_statistics": new.partition_statistics}
    kept = {name: [part for part in some if part.snapshot_id not in forgotten] for name, some in parts.items()}
    return {**kept, "snapshot_log": log[begin:]}


def _in_order(old: TableMetadata, new: TableMetadata) -> TableMetadata:
    """The new metadata, no older than the old: Java refuses to read a table whose times run backwards, and clocks differ."""
    past = old.last_updated_ms
    if new.last_updated_ms >= past:
        return new
    log = new.snapshot_log
    if len(log) > len(old.snapshot_log):
        log = [*log[:-1], log[-1].model_copy(update={"timestamp_ms": past})]
    return new.model_copy(update={"last_updated_ms": past, "snapshot_log": log})
