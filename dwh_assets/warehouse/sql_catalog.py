"""pyiceberg's catalog, taught two things: its logs never run backwards, and a metadata file can be written without committing it.

Together with publish.py the only place that knows private parts of pyiceberg; the pin in pyproject.toml is there for them.
"""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate


class OrderedSqlCatalog(SqlCatalog):
    def write_metadata(self, table: Table, updates: tuple[TableUpdate, ...]) -> StagedTable:
        """Write the metadata that follows from the updates; the catalog goes on pointing to what it pointed to."""
        staged = self._update_and_stage_table(table, table.name(), (), updates)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return staged

    def _update_and_stage_table(self, current_table: Table | None, *args: Any, **kwargs: Any) -> StagedTable:
        staged = super()._update_and_stage_table(current_table, *args, **kwargs)
        if current_table is not None:
            staged.metadata = _in_order(current_table.metadata, staged.metadata)
        return staged


def _in_order(old: TableMetadata, new: TableMetadata) -> TableMetadata:
    """The new metadata, no older than the old: Java refuses to read a table whose times run backwards, and clocks differ."""
    if new.last_updated_ms >= old.last_updated_ms:
        return new
    past = old.last_updated_ms
    log = new.snapshot_log
    if log != old.snapshot_log:
        log = [*log[:-1], log[-1].model_copy(update={"timestamp_ms": past})]
    return new.model_copy(update={"last_updated_ms": past, "snapshot_log": log})
