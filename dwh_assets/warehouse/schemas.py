"""Spark types as Iceberg types and back, and which change of a type loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pyiceberg.types as ice
import pyspark.sql.types as spark
from pyiceberg.schema import Schema

from dwh_assets.model.errors import SchemaDrift

_PRIMITIVES: dict[type[spark.DataType], ice.IcebergType] = {
    spark.BooleanType: ice.BooleanType(),
    spark.ByteType: ice.IntegerType(),
    spark.ShortType: ice.IntegerType(),
    spark.IntegerType: ice.IntegerType(),
    spark.LongType: ice.LongType(),
    spark.FloatType: ice.FloatType(),
    spark.DoubleType: ice.DoubleType(),
    spark.StringType: ice.StringType(),
    spark.CharType: ice.StringType(),
    spark.VarcharType: ice.StringType(),
    spark.BinaryType: ice.BinaryType(),
    spark.DateType: ice.DateType(),
    spark.TimestampType: ice.TimestamptzType(),
    spark.TimestampNTZType: ice.TimestampType(),
}
_BACK: dict[type[ice.IcebergType], spark.DataType] = {
    ice.BooleanType: spark.BooleanType(),
    ice.IntegerType: spark.IntegerType(),
    ice.LongType: spark.LongType(),
    ice.FloatType: spark.FloatType(),
    ice.DoubleType: spark.DoubleType(),
    ice.StringType: spark.StringType(),
    ice.UUIDType: spark.StringType(),
    ice.BinaryType: spark.BinaryType(),
    ice.FixedType: spark.BinaryType(),
    ice.DateType: spark.DateType(),
    ice.TimestamptzType: spark.TimestampType(),
    ice.TimestampType: spark.TimestampNTZType(),
}
_DIGITS: dict[type[ice.IcebergType], int] = {ice.IntegerType: 10, ice.LongType: 19}


def to_iceberg(columns: spark.StructType) -> Schema:
    """Every column is optional: what must not be null is a declared check, which can be released."""
    return Schema(*_fields(columns, count(1)))


def to_spark(schema: Schema) -> spark.StructType:
    struct = _spark_type(schema.as_struct())
    assert isinstance(struct, spark.StructType)
    return struct


def sql_type(type_: ice.IcebergType) -> str:
    """The type as people write it in SQL, for messages."""
    return _spark_type(type_).simpleString()


def widens(old: ice.IcebergType, new: ice.IcebergType) -> bool:
    """Whether Iceberg can change a column from `old` to `new` without rewriting a file."""
    if isinstance(old, ice.DecimalType) and isinstance(new, ice.DecimalType):
        return old.scale == new.scale and old.precision < new.precision
    return (type(old), type(new)) in {(ice.IntegerType, ice.LongType), (ice.FloatType, ice.DoubleType)}


def fits(value: ice.IcebergType, column: ice.IcebergType) -> bool:
    """Whether every value of the one type can be stored in a column of the other as it is."""
    if isinstance(value, ice.StructType) and isinstance(column, ice.StructType):
        names = [field.name for field in value.fields] == [field.name for field in column.fields]
        return names and all(fits(v.field_type, c.field_type) for v, c in zip(value.fields, column.fields, strict=True))
    if isinstance(value, ice.ListType) and isinstance(column, ice.ListType):
        return fits(value.element_type, column.element_type)
    if isinstance(value, ice.MapType) and isinstance(column, ice.MapType):
        return fits(value.key_type, column.key_type) and fits(value.value_type, column.value_type)
    if isinstance(column, ice.DecimalType) and type(value) in _DIGITS:
        return column.precision - column.scale >= _DIGITS[type(value)]
    return value == column or widens(value, column)


def _fields(columns: spark.StructType, ids: Iterator[int]) -> list[ice.NestedField]:
    return [ice.NestedField(next(ids), f.name, _iceberg_type(f.dataType, f.name, ids), required=False) for f in columns.fields]


def _iceberg_type(type_: spark.DataType, column: str, ids: Iterator[int]) -> ice.IcebergType:
    if type(type_) in _PRIMITIVES:
        return _PRIMITIVES[type(type_)]
    if isinstance(type_, spark.DecimalType):
        return ice.DecimalType(type_.precision, type_.scale)
    if isinstance(type_, spark.StructType):
        return ice.StructType(*_fields(type_, ids))
    if isinstance(type_, spark.ArrayType):
        return ice.ListType(next(ids), _iceberg_type(type_.elementType, column, ids), element_required=False)
    if isinstance(type_, spark.MapType):
        key, value = _iceberg_type(type_.keyType, column, ids), _iceberg_type(type_.valueType, column, ids)
        return ice.MapType(next(ids), key, next(ids), value, value_required=False)
    raise SchemaDrift(
        f"column {column} has the type {type_.simpleString()}, which a table cannot store.\n"
        f"Nothing was changed. Cast it in the transform, for example `cast({column} as string)`."
    )


def _spark_type(type_: ice.IcebergType) -> spark.DataType:
    if type(type_) in _BACK:
        return _BACK[type(type_)]
    if isinstance(type_, ice.DecimalType):
        return spark.DecimalType(type_.precision, type_.scale)
    if isinstance(type_, ice.StructType):
        return spark.StructType([spark.StructField(f.name, _spark_type(f.field_type), not f.required) for f in type_.fields])
    if isinstance(type_, ice.ListType):
        return spark.ArrayType(_spark_type(type_.element_type), not type_.element_required)
    if isinstance(type_, ice.MapType):
        return spark.MapType(_spark_type(type_.key_type), _spark_type(type_.value_type), not type_.value_required)
    raise SchemaDrift(f"the Iceberg type {type_} has no Spark type; such a column cannot be read or written here")
