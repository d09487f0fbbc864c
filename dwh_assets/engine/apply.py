"""Apply a Lineage: find out what each table will hold, create or widen the tables, put the modules in force."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, TimestampType

from dwh_assets.control.lineage import Change
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.transform import Transforms, Views, with_audit
from dwh_assets.model.errors import DwhError, LineageError
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage, Module
from dwh_assets.processors.processor import AUDIT, Processor
from dwh_assets.processors.registry import processor_named
from dwh_assets.warehouse.session import spark_errors
from dwh_assets.warehouse.tables import changes, create_or_widen, desired_schema


@dataclass(frozen=True)
class TablePlan:
    """What a built table will hold."""

    name: str
    columns: StructType
    partition_by: str | None
    changes: list[str]


@dataclass(frozen=True)
class Preview:
    """What an apply will do."""

    modules: list[Change]
    tables: list[TablePlan]

    @property
    def empty(self) -> bool:
        return not self.modules and not any(table.changes for table in self.tables)


def preview(engine: Engine, lineage: Lineage) -> Preview:
    """Work out an apply without doing it. Every transform is analysed by Spark; all problems are raised together."""
    tables: dict[str, TablePlan] = {}
    problems: list[str] = []
    for name in order(lineage):
        module = lineage.module(name)
        try:
            with spark_errors():
                tables[module.table] = _table_plan(engine, lineage, module, tables)
        except DwhError as error:
            problems.append(f"{lineage.places.get(name, name)}: {error}")
    if problems:
        raise LineageError(problems)
    return Preview(engine.lineage.diff(lineage), list(tables.values()))


def apply(engine: Engine, lineage: Lineage, who: str) -> Preview:
    """Put a Lineage in force. Tables come first: a table without a module harms nobody, a module without a table would."""
    planned = preview(engine, lineage)
    for table in planned.tables:
        if table.changes:
            create_or_widen(engine.catalog, table.name, table.columns, table.partition_by, {})
    engine.lineage.apply(lineage, who)
    return planned


def _table_plan(engine: Engine, lineage: Lineage, module: Module, known: dict[str, TablePlan]) -> TablePlan:
    processor = processor_named(module.processor)
    columns = _output_columns(engine, lineage, module, processor, known)
    earlier = known.get(module.table)
    if earlier is not None:
        columns = _together(module, earlier.columns, columns, processor)
    _require_positions(lineage, module, columns, processor)
    pos = module.position[0]
    timed = processor.partitioned and pos in columns.names and isinstance(columns[pos].dataType, TimestampType)
    found = changes(engine.catalog, module.table, desired_schema(columns))
    return TablePlan(module.table, columns, pos if timed else None, found)


def _output_columns(
    engine: Engine, lineage: Lineage, module: Module, processor: Processor, known: dict[str, TablePlan]
) -> StructType:
    session = engine.session()
    frames = {name: _frame(engine, lineage, session, name, known) for name in module.inputs}
    _require_base_position(module, frames[module.base], processor)
    views = Views(session, f"dwh_preview_{module.name.replace('.', '_').replace('#', '_')}")
    try:
        names = {name: views.add(frame) for name, frame in frames.items()}
        transforms = Transforms(session, module, engine.settings.transforms_folder, views, names, frames)
        shaped = processor.shape(module, with_audit(transforms.output(frames[module.base]), 0, 0))
        return StructType([_optional(field) for field in shaped.schema.fields if field.name not in AUDIT])
    finally:
        views.drop()


def _optional(field: StructField) -> StructField:
    """Whether a value must be there is for checks to say; a table column that refuses nulls could never be widened."""
    return StructField(field.name, field.dataType, True)


def _frame(engine: Engine, lineage: Lineage, session: SparkSession, name: str, known: dict[str, TablePlan]) -> DataFrame:
    """The table as it will be after the apply, or as it is."""
    if name in known:
        audit = "_block bigint, _execution bigint, _loaded_at timestamp"
        return session.createDataFrame([], known[name].columns).selectExpr(
            "*", *(f"CAST(NULL AS {column.split()[1]}) AS {column.split()[0]}" for column in audit.split(", "))
        )
    source = engine.source(name, lineage)
    return source.read(session, None, source.snapshot(), None)


def _require_base_position(module: Module, base: DataFrame, processor: Processor) -> None:
    if processor.whole:
        return
    wanted = [*module.position, *([module.shard_by] if module.shard_by else [])]
    if missing := [column for column in wanted if column not in base.columns]:
        raise LineageError([f"position: base table {module.base} has no column {missing[0]}; it has {', '.join(base.columns)}"])


def _together(module: Module, first: StructType, second: StructType, processor: Processor) -> StructType:
    """Several tags write one table: streams that merge may bring different columns, streams that append may not."""
    if not processor.forgets and set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))
        raise LineageError([f"transforms: the tags of {module.table} must give the same columns; {', '.join(odd)} is not in all"])
    return StructType([*first.fields, *(field for field in second.fields if field.name not in first.names)])


def _require_positions(lineage: Lineage, module: Module, columns: StructType, processor: Processor) -> None:
    needed = [*module.key, *(module.position if processor.replaces and not processor.whole else ())]
    if missing := [column for column in needed if column not in columns.names]:
        raise LineageError([f"transforms: must give the column {missing[0]}; they give {', '.join(columns.names)}"])
