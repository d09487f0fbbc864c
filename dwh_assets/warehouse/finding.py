"""Finding single rows of a table by the values of some columns, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo, IsNull
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, PrimitiveType, TimestampType, TimestamptzType

from dwh_assets.model.errors import UnknownColumn
from dwh_assets.model.near import did_you_mean
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.schemas import sql_type

NULL = "null"


def find_rows(catalog: Catalog, name: str, key: Mapping[str, str], limit: int) -> list[dict[str, Any]]:
    """At most `limit` rows whose columns have these values, written as text; `null` finds rows without one."""
    table = catalog.load(name)
    condition: BooleanExpression = AlwaysTrue()
    for column, text in key.items():
        condition &= _equals(table, name, column, text)
    with catalog.asking(name):
        return table.scan(condition, limit=limit).to_arrow().to_pylist()


def _equals(table: Table, name: str, column: str, text: str) -> BooleanExpression:
    field = next((f for f in table.schema().fields if f.name == column), None)
    if field is None:
        raise _unknown(name, column, [f.name for f in table.schema().fields])
    if not isinstance(field.field_type, PrimitiveType):
        raise UnknownColumn(f"{name}.{column} is {sql_type(field.field_type)}; rows are found by columns of a single value.")
    if text == NULL:
        return IsNull(column)  # pyright: ignore[reportCallIssue]
    condition = EqualTo(column, _written(field.field_type, text))  # pyright: ignore[reportCallIssue]
    try:
        condition.bind(table.schema())
    except (ValueError, TypeError, ArithmeticError):
        raise UnknownColumn(f"what was given for {name}.{column} is no {sql_type(field.field_type)}. Nothing was read.") from None
    return condition


def _written(type_: IcebergType, text: str) -> str:
    """Instants as Iceberg reads them: with a zone where the column has one."""
    if not isinstance(type_, (TimestamptzType, TimestampType)):
        return text
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return text
    if isinstance(type_, TimestampType):
        return instant.replace(tzinfo=None).isoformat()
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _unknown(name: str, column: str, known: list[str]) -> UnknownColumn:
    return UnknownColumn(f"table {name} has no column {column!r}.{did_you_mean(column, known)} It has {', '.join(known)}.")
