"""A hash sum over all values of a block's rows: it changes with any value, and not with the order or the files of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.connect.session import SparkSession


def content_by_block(session: SparkSession, table: str, snapshot: int) -> dict[int, int]:
    """Block -> hash sum of its rows, of the whole table in one job."""
    frame = session.read.option("versionAsOf", str(snapshot)).table(f"dwh.{table}")
    row = hash_of_row(frame.schema.fields)
    summed = F.sum(row.cast("decimal(38,0)")).alias("hash")
    return {found["_block"]: int(found["hash"]) for found in frame.groupBy("_block").agg(summed).collect()}


def hash_of_row(fields: Sequence[T.StructField]) -> Column:
    """One number for the values of these columns, whatever their order."""
    return F.xxhash64(*(_hashed(field) for field in sorted(fields, key=lambda field: field.name)))


def _hashed(field: T.StructField) -> Column:
    """With its name, so that columns cannot change places; null where there is no value, so that a new column changes nothing."""
    value = _widest(field)
    return F.when(value.isNotNull(), F.xxhash64(F.lit(field.name), value))


def _widest(field: T.StructField) -> Column:
    """A column may be widened later: the same value must keep its hash."""
    column = F.col(f"`{field.name}`")
    if isinstance(field.dataType, T.IntegralType):
        return column.cast("bigint")
    if isinstance(field.dataType, T.FloatType):
        return column.cast("double")
    if isinstance(field.dataType, T.DecimalType):
        return column.cast("string")
    if isinstance(field.dataType, (T.MapType, T.ArrayType, T.StructType)):
        return F.to_json(column)
    return column
