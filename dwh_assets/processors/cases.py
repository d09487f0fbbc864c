"""A module's transforms on rows that a person wrote down: the same guard, parameters and processor as for a real block."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Module
from dwh_assets.model.position import Bounds
from dwh_assets.processors.looking import without_audit
from dwh_assets.processors.output import transforms_of
from dwh_assets.processors.processor import AUDIT, Processor
from dwh_assets.processors.transform import analysed, not_beyond, with_audit
from dwh_assets.sources.decoding import columns_of

Row = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """One input: its columns as DDL types by name, and its rows."""

    table: str
    types: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


def transformed(
    session: SparkSession, module: Module, processor: Processor, folder: Path, inputs: Sequence[Given], bounds: Bounds | None
) -> DataFrame:
    """What a block of these base rows gives, without the audit columns."""
    frames = {given.table: _frame(session, given) for given in inputs}
    base = frames[module.base]
    if bounds is not None and not processor.whole:
        inside = f"{not_beyond(bounds.next, module.position)} AND NOT {not_beyond(bounds.last, module.position)}"
        base = base.where(inside)
    transforms = transforms_of(session, module, folder, frames, "dwh_case")
    return without_audit(processor.shape(module, with_audit(transforms.output(base), 0, 0)))


def expected_and_given(
    session: SparkSession, output: DataFrame, expected: Sequence[Row], name: str
) -> tuple[list[Row], list[Row]]:
    """Both as Spark has them, in the output's types and in the columns that are expected."""
    columns = analysed(output, name)
    named = list(dict.fromkeys(column for row in expected for column in row)) or columns.names
    if unknown := [column for column in named if column not in columns.names]:
        raise ConfigError(
            f"expects the column {unknown[0]}, which the transform does not give; it gives {', '.join(columns.names)}"
        )
    wanted = StructType([columns[column] for column in named])
    return _collected(_typed(session, wanted, expected)), _collected(output.select(*(F.col(f"`{c}`") for c in named)))


def _frame(session: SparkSession, given: Given) -> DataFrame:
    ddl = ", ".join(f"`{column}` {kind}" for column, kind in given.types.items())
    frame = _typed(session, columns_of(ddl), given.rows)
    missing = [f"CAST(NULL AS {'timestamp' if column == '_loaded_at' else 'bigint'}) AS {column}" for column in AUDIT]
    return frame if "_block" in given.types else frame.selectExpr("*", *missing)


def _typed(session: SparkSession, columns: StructType, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows written in YAML as Spark reads them from JSON: text becomes an instant, a number a decimal, by its column's type."""
    if not rows:
        return session.createDataFrame([], columns)
    lines = [(json.dumps(row),) for row in rows]
    options = {"mode": "FAILFAST", "timeZone": "UTC"}
    parsed = F.from_json("line", columns, options).alias("row")
    return session.createDataFrame(lines, "line string").select(parsed).select("row.*")


def _collected(frame: DataFrame) -> list[Row]:
    try:
        return frame.toArrow().to_pylist()
    except PySparkException as error:
        if "MALFORMED_RECORD" in str(error):
            raise ConfigError("a value does not fit the type of its column; `types` in the file can say another one") from error
        raise
