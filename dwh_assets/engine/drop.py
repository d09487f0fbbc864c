"""Dropping a table: what would go, and the act itself: first out of sight in one transaction, then its files."""

from __future__ import annotations

from dataclasses import dataclass

from dwh_assets.control.drops import DropStore
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import UnknownTopic
from dwh_assets.model.events import dead_letters_of
from dwh_assets.model.near import did_you_mean
from dwh_assets.warehouse.dropping import TableFolder, delete_files, folder_of


@dataclass(frozen=True)
class Drop:
    """What a drop takes: the table, and the one of its dead letters."""

    table: str
    topics: int
    blocks: int
    folders: tuple[TableFolder, ...]


def plan_drop(engine: Engine, table: str) -> Drop:
    """Changes nothing; what must not be dropped is refused."""
    found = DropStore(engine.database).topics(table)
    if not found:
        raise _unknown(engine, table)
    names = [table, *([dead_letters_of(table)] if any(row["processor"] == "ingest" for row in found) else [])]
    folders = (folder_of(engine.catalog, name, engine.settings.warehouse_root) for name in names)
    here = tuple(folder for folder in folders if folder.rows is not None or folder.files)
    return Drop(table, len(found), sum(row["blocks"] for row in found), here)


def drop(engine: Engine, planned: Drop, who: str, reason: str) -> None:
    """Readers see all of it or nothing. A crash in between leaves files that nobody refers to: the same call removes them."""
    DropStore(engine.database).drop(planned.table, [folder.table for folder in planned.folders], who, reason)
    for folder in planned.folders:
        delete_files(engine.catalog, folder)


def _unknown(engine: Engine, table: str) -> UnknownTopic:
    built = sorted({*engine.lineage.active().tables, *engine.catalog.names()})
    if table in built:
        return UnknownTopic(f"{table} was not built here: it is a source or somebody else's table. Nothing was changed.")
    return UnknownTopic(f"there is no table {table!r}.{did_you_mean(table, built)} Nothing was changed.")
