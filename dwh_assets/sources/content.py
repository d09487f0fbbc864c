"""A hash sum over the values of rows: it changes with any value, and not with the order or the files of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from dwh_assets.sources.source import HASH_MODULUS, Content
from dwh_assets.warehouse.tables import AUDIT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SPARK = "spark xxhash64"


def row_hash(fields: Sequence[T.StructField]) -> Column:
    """One number a row."""
    return F.xxhash64(*(_hashed(field) for field in sorted(fields, key=lambda field: field.name)))


def content_of(frame: DataFrame, columns: Sequence[str] | None = None) -> Content | None:
    """Of these columns, or of all but those that name who wrote a row; None where one of them is not there any more."""
    fields = {field.name: field for field in frame.schema.fields}
    names = sorted(fields.keys() - AUDIT.keys()) if columns is None else list(columns)
    if any(name not in fields for name in names):
        return None
    hashed = row_hash([fields[name] for name in names]).cast("decimal(38,0)")
    total = frame.agg(F.sum(hashed).alias("total")).collect()[0]["total"]
    return Content(int(total or 0) % HASH_MODULUS, (SPARK, *names))


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
