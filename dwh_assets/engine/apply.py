"""Apply a Lineage: find out what each table will hold, create or widen the tables, put the modules in force."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from dwh_assets.config.sql_parameters import bound
from dwh_assets.control.lineage_apply import Change
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.outdated import Outdated, outdated
from dwh_assets.model.errors import DwhError, LineageError
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import resolve
from dwh_assets.processors.ingest import dead_letter_table, stage_columns
from dwh_assets.processors.output import empty_table, output_columns
from dwh_assets.processors.processor import Processor
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.decoding import UNIQUE
from dwh_assets.sources.postgres.source import PostgresSource
from dwh_assets.warehouse.session import spark_errors
from dwh_assets.warehouse.tables import audit_columns, changes, create_or_widen, desired_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class TablePlan:
    """What a built table will hold."""

    name: str
    columns: StructType
    partition_by: str | None
    changes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Preview:
    """What an apply will do."""

    modules: list[Change]
    tables: list[TablePlan]
    warnings: list[str]
    outdated: list[Outdated] = field(default_factory=list)  # what earlier transforms have built; an apply leaves it as it is

    @property
    def empty(self) -> bool:
        return not self.modules and not any(table.changes for table in self.tables)


def preview(engine: Engine, lineage: Lineage) -> Preview:
    """Work out an apply without doing it. Every transform is analysed by Spark; all problems are raised together."""
    tables: dict[str, TablePlan] = {}
    places: dict[str, str] = {}
    problems: dict[str, str] = {}  # by table: what depends on a refused one is still looked at
    for name in order(lineage):
        module = lineage.module(name)
        places[module.table] = lineage.places.get(name, name)
        try:
            with spark_errors():
                tables[module.table] = _table_plan(engine, lineage, module, tables)
                if len(module.tables) > 1:
                    tables[module.tables[1]] = TablePlan(module.tables[1], dead_letter_table(), "pos")
        except DwhError as error:
            problems[name] = f"{places[module.table]}: {error}"
            problems[module.table] = problems[name]
    compared = [_compared(engine, table, places, problems) for table in tables.values()]
    if problems:
        raise LineageError(list(dict.fromkeys(problems.values())))
    return Preview(engine.lineage.diff(lineage), compared, list(_warnings(engine, lineage)), outdated(engine, lineage))


def _compared(engine: Engine, table: TablePlan, places: dict[str, str], problems: dict[str, str]) -> TablePlan:
    """What the table lacks, once all its tags are put together: each alone may bring only some of its columns."""
    if table.name in problems:
        return table
    try:
        return replace(table, changes=changes(engine.catalog, table.name, desired_schema(table.columns)))
    except DwhError as error:
        problems[table.name] = f"{places[table.name]}: {error}"
        return table


def apply(engine: Engine, lineage: Lineage, who: str, reason: str = "") -> Preview:
    """Put a Lineage in force. Tables come first: a table without a module harms nobody, a module without a table would."""
    planned = preview(engine, lineage)
    for table in planned.tables:
        if table.changes:
            create_or_widen(engine.catalog, table.name, table.columns, table.partition_by, _encoding(table.columns))
    engine.lineage.apply(lineage, who, reason)
    for table in planned.tables:
        columns = [{"name": column.name, "type": column.dataType.simpleString()} for column in table.columns]
        engine.lineage.note_columns(table.name, columns, audit_columns(engine.catalog, table.name))
    return planned


def _encoding(columns: StructType) -> dict[str, str]:
    """No two events have one id: a dictionary of all of them is built in vain, and is longer than the ids themselves."""
    return {f"write.parquet.dict-encoding-enabled.column.{name}": "false" for name in UNIQUE if name in columns.names}


def _warnings(engine: Engine, lineage: Lineage) -> Iterator[str]:
    """What works, but slowly (S14)."""
    for table in lineage.sources:
        if table.kind != "postgres":
            continue
        source = engine.source(table.name, lineage)
        if isinstance(source, PostgresSource) and not source.has_index():
            columns = ", ".join(table.position)
            yield (
                f"{lineage.places.get(table.name, table.name)}: {table.relation or table.name} has no index on ({columns}); "
                "every block reads the whole table until it has one"
            )


def _table_plan(engine: Engine, lineage: Lineage, module: Module, known: dict[str, TablePlan]) -> TablePlan:
    processor = processor_named(module.processor)
    columns = _output_columns(engine, lineage, module, processor, known)
    earlier = known.get(module.table)
    if earlier is not None:
        columns = _together(module, earlier.columns, columns, processor)
    _require_positions(lineage, module, columns, processor)
    pos = module.position[0]
    timed = processor.partitioned and pos in columns.names and columns[pos].dataType.typeName() == "timestamp"
    return TablePlan(module.table, columns, pos if timed else None)


def _output_columns(
    engine: Engine, lineage: Lineage, module: Module, processor: Processor, known: dict[str, TablePlan]
) -> StructType:
    session = engine.session()
    frames = {name: _frame(engine, lineage, session, name, known) for name in module.inputs}
    _require_base_position(module, frames[module.base].columns, processor)
    valued = bound(module, resolve(lineage.parameters, (), module.parameters))
    columns = output_columns(session, valued, processor, engine.settings.transforms_folder, frames)
    return stage_columns(columns) if len(module.tables) > 1 else columns


def _frame(engine: Engine, lineage: Lineage, session: SparkSession, name: str, known: dict[str, TablePlan]) -> DataFrame:
    """The table as it will be after the apply, or as it is."""
    if name in known:
        return empty_table(session, known[name].columns)
    source = engine.source(name, lineage)
    return source.read(session, None, source.snapshot(), None)


def _require_base_position(module: Module, columns: list[str], processor: Processor) -> None:
    if processor.whole:
        return
    wanted = [*module.position, *([module.shard_by] if module.shard_by else [])]
    if missing := [column for column in wanted if column not in columns]:
        raise LineageError([f"position: base table {module.base} has no column {missing[0]}; it has {', '.join(columns)}"])


def _together(module: Module, first: StructType, second: StructType, processor: Processor) -> StructType:
    """Several tags write one table: streams that merge may bring different columns, streams that append may not."""
    if not processor.forgets and set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))
        raise LineageError([f"transforms: the tags of {module.table} must give the same columns; {', '.join(odd)} is not in all"])
    return reduce(lambda both, field: both if field.name in both.names else both.add(field), second.fields, deepcopy(first))


def _require_positions(lineage: Lineage, module: Module, columns: StructType, processor: Processor) -> None:
    needed = [*module.key, *(module.position if processor.replaces and not processor.whole else ())]
    if missing := [column for column in needed if column not in columns.names]:
        raise LineageError([f"transforms: must give the column {missing[0]}; they give {', '.join(columns.names)}"])
