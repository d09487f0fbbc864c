"""The real columns of a table: of the Iceberg catalog, of a source's database, or of the declared schema of events."""

from __future__ import annotations

from dataclasses import replace

from dwh_assets.engine.apply import preview
from dwh_assets.engine.engine import Engine
from dwh_assets.model.column import TableColumn
from dwh_assets.model.errors import UnknownTopic
from dwh_assets.model.module import Lineage, SourceTable
from dwh_assets.model.near import did_you_mean
from dwh_assets.sources.postgres.source import PostgresSource
from dwh_assets.warehouse.describing import columns_of as columns_of_table


def columns_of(engine: Engine, lineage: Lineage, name: str) -> list[TableColumn]:
    """Of a source, of a built table, or of any other table in the catalog; a name that is none is an error with near ones."""
    source = next((s for s in lineage.sources if s.name == name), None)
    if source is not None:
        return _of_source(engine, lineage, source)
    if engine.catalog.exists(name):
        return _commented(lineage, name, columns_of_table(engine.catalog, name))
    if any(name in module.tables for module in lineage.modules):
        return _commented(lineage, name, _planned(engine, lineage, name))
    raise unknown(engine, lineage, name)


def names_of(engine: Engine, lineage: Lineage) -> list[str]:
    """Everything that can be named as a table."""
    return sorted({*(s.name for s in lineage.sources), *lineage.tables, *engine.catalog.names()})


def unknown(engine: Engine, lineage: Lineage, name: str) -> UnknownTopic:
    return UnknownTopic(
        f"there is no table {name!r}.{did_you_mean(name, names_of(engine, lineage))}\n"
        "Tables are those of lineage/, of lineage/sources/ (which also name Postgres tables, Kafka topics and folders of files), "
        "and those of the catalog."
    )


def _of_source(engine: Engine, lineage: Lineage, source: SourceTable) -> list[TableColumn]:
    if source.events is not None:
        pos, id_ = source.position
        fields = [TableColumn(f.name, f.type, "", f.required, f.name in source.events.key) for f in source.events.newest.fields]
        return [TableColumn(pos, "timestamp", required=True), TableColumn(id_, "bigint", required=True), *fields]
    if source.kind == "iceberg":
        return columns_of_table(engine.catalog, source.name)
    found = engine.source(source.name, lineage)
    assert isinstance(found, PostgresSource)
    return found.columns()


def _planned(engine: Engine, lineage: Lineage, name: str) -> list[TableColumn]:
    """A table that the next apply will create."""
    planned = next(table for table in preview(engine, lineage).tables if table.name == name)
    return [TableColumn(column.name, column.dataType.simpleString()) for column in planned.columns]


def _commented(lineage: Lineage, name: str, columns: list[TableColumn]) -> list[TableColumn]:
    """With what the files of its modules say of them."""
    texts = {column: text for module in lineage.builders(name) for column, text in module.columns.items()}
    keys = {column for module in lineage.builders(name) for column in module.key}
    return [replace(c, comment=texts.get(c.name, c.comment), key=c.key or c.name in keys) for c in columns]
