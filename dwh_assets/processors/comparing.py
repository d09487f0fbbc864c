"""Two versions of the rows of the same blocks held against each other: counts, nulls, sums, and the rows that only one has."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dwh_assets.processors.processor import AUDIT
from dwh_assets.sources.content import row_hash
from dwh_assets.warehouse.schemas import fits, to_iceberg
from dwh_assets.warehouse.session import spark_errors

Row = dict[str, Any]
_HASH, _SIDE = "_hash", "_side"


@dataclass(frozen=True)
class Figures:
    rows: int = 0
    nulls: dict[str, int] = field(default_factory=dict)
    sums: dict[str, Decimal | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Version:
    """One version of some blocks' rows, counted. `seconds` is what reading, transforming and counting took."""

    columns: dict[str, str]
    by_block: dict[int, Figures]
    seconds: float


def count_version(rows: DataFrame) -> Version:
    """Sums are made of decimals: their last digit does not depend on the order of the rows."""
    fields = own_fields(rows)
    wanted = [F.count(F.lit(1)).alias("rows")]
    wanted += [F.count_if(F.col(f"`{f.name}`").isNull()).alias(f"n_{f.name}") for f in fields]
    wanted += [F.expr(f"try_sum(try_cast(`{f.name}` AS decimal(38, 9)))").alias(f"s_{f.name}") for f in fields if _summable(f)]
    began = monotonic()
    with spark_errors():
        found = rows.groupBy("_block").agg(*wanted).collect()
    seconds = monotonic() - began
    return Version(
        {f.name: f.dataType.simpleString() for f in fields}, {r["_block"]: _figures(r.asDict()) for r in found}, seconds
    )


def only_in_one(before: DataFrame, after: DataFrame) -> dict[int, tuple[int, int]]:
    """Block -> rows that only the one version has, and those that only the other has, in the columns that both have."""
    counted = _differences(before, after).groupBy("_block")
    gone, come = F.sum(F.greatest("n", F.lit(0))).alias("gone"), F.sum(F.greatest(-F.col("n"), F.lit(0))).alias("come")
    with spark_errors():
        return {row["_block"]: (row["gone"], row["come"]) for row in counted.agg(gone, come).collect()}


def some_differences(before: DataFrame, after: DataFrame, count: int) -> tuple[list[Row], list[Row]]:
    """A few rows that only one version has, the same ones each time."""
    chosen = _differences(before, after).orderBy("_block", _HASH).limit(count)
    with spark_errors():
        hashes = [row[_HASH] for row in chosen.collect()]
        return _with_hashes(before, after, hashes), _with_hashes(after, before, hashes)


def as_stored(rows: DataFrame, table: DataFrame) -> DataFrame:
    """With the types of the table, where it stores the values as they are: an int that a bigint column takes is no change."""
    stored = {f.name: f.dataType for f in table.schema.fields}
    wider = {f.name: stored[f.name] for f in own_fields(rows) if f.name in stored and _fits(f.dataType, stored[f.name])}
    return rows.withColumns({name: F.col(f"`{name}`").cast(kind) for name, kind in wider.items()}) if wider else rows


def _fits(value: T.DataType, column: T.DataType) -> bool:
    one, other = (to_iceberg(T.StructType([T.StructField("x", kind)])).fields[0].field_type for kind in (value, column))
    return value != column and fits(one, other)


def own_fields(rows: DataFrame) -> list[T.StructField]:
    """What the transforms gave: no audit columns, and nothing that a processor keeps for itself."""
    return [f for f in rows.schema.fields if f.name not in AUDIT and not f.name.startswith("_")]


def _common(before: DataFrame, after: DataFrame) -> list[str]:
    """Columns of one type in both: what has another type is told as a change of columns."""
    types = {f.name: f.dataType for f in own_fields(after)}
    return [f.name for f in own_fields(before) if types.get(f.name) == f.dataType]


def _hashed(rows: DataFrame, columns: list[str]) -> Column:
    return row_hash([rows.schema[name] for name in columns]).alias(_HASH)


def _differences(before: DataFrame, after: DataFrame) -> DataFrame:
    columns = _common(before, after)
    one = before.select("_block", _hashed(before, columns), F.lit(1).alias(_SIDE))
    other = after.select("_block", _hashed(after, columns), F.lit(-1).alias(_SIDE))
    return one.union(other).groupBy("_block", _HASH).agg(F.sum(_SIDE).alias("n")).where("n <> 0")


def _with_hashes(rows: DataFrame, other: DataFrame, hashes: list[int]) -> list[Row]:
    columns = _common(rows, other)
    kept = rows.select("_block", *(f"`{c}`" for c in columns), _hashed(rows, columns)).where(F.col(_HASH).isin(hashes))
    return kept.orderBy("_block", _HASH).drop("_block", _HASH).toArrow().to_pylist() if hashes else []


def _summable(field: T.StructField) -> bool:
    return isinstance(field.dataType, T.NumericType)


def _figures(row: Row) -> Figures:
    nulls = {name[2:]: value for name, value in row.items() if name.startswith("n_")}
    return Figures(row["rows"], nulls, {name[2:]: value for name, value in row.items() if name.startswith("s_")})
