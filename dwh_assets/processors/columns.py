"""Where the columns of a module come from, asked of Spark: its transforms are analysed over empty inputs, nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from dwh_assets.model.column_lineage import ColumnLineage, lineage_of, marked
from dwh_assets.model.module import Module
from dwh_assets.model.plan_text import analysed_part, tree_of
from dwh_assets.processors.output import transforms_of
from dwh_assets.processors.processor import AUDIT, Processor
from dwh_assets.processors.transform import analysed, with_audit

MANY = "100000"


def column_lineage(
    session: SparkSession, module: Module, processor: Processor, folder: Path, schemas: Mapping[str, StructType]
) -> ColumnLineage:
    """By the analysed plan, so that Python transforms are understood like SQL. `module` has its parameters bound."""
    frames = {name: marked_input(session, name, schema) for name, schema in schemas.items()}
    prefix = f"dwh_columns_{module.name.replace('.', '_').replace('#', '_')}"
    transforms = transforms_of(session, module.without_writes(), folder, frames, prefix)
    rows = processor.shape(module, with_audit(transforms.output(frames[module.base]), 0, 0))
    names = [field.name for field in analysed(rows, module.name) if field.name not in AUDIT]
    found = lineage_of_frame(session, rows)
    return replace(found, columns={name: found.columns.get(name, ()) for name in names})


def lineage_of_frame(session: SparkSession, rows: DataFrame) -> ColumnLineage:
    """Of any query over marked inputs."""
    assert isinstance(rows, ConnectDataFrame)
    session.conf.set("spark.sql.debug.maxToStringFields", MANY)  # else long lists of columns are cut short in the text
    plan = tree_of(analysed_part(rows._explain_string(extended=True)))
    return ColumnLineage({}, ()) if plan is None else lineage_of(plan)


def marked_input(session: SparkSession, table: str, schema: StructType) -> DataFrame:
    """An empty table whose columns pass through names that tell where they are from, whatever the real one is read by."""
    empty = session.createDataFrame([], schema)
    return empty.toDF(*(marked(table, name) for name in schema.names)).toDF(*schema.names)
