"""The bounds of a column in a manifest, as Python values, for the types whose bounds are exact."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyiceberg.types as ice
from pyiceberg.conversions import from_bytes

Value = bool | int | float | Decimal | date | datetime | time
_EPOCH = datetime(1970, 1, 1)
_EXACT = (
    ice.BooleanType, ice.IntegerType, ice.LongType, ice.FloatType, ice.DoubleType, ice.DecimalType,
    ice.DateType, ice.TimeType, ice.TimestampType, ice.TimestamptzType,
)  # fmt: skip


def has_exact_bounds(type_: ice.IcebergType) -> bool:
    """False for text and binary: manifests keep only a prefix of their bounds."""
    return isinstance(type_, _EXACT)


def exact_bound(type_: ice.PrimitiveType, raw: bytes) -> Value:
    value: Any = from_bytes(type_, raw)
    if isinstance(type_, ice.DateType):
        return _moment(value * 86_400_000_000).date()
    if isinstance(type_, ice.TimestampType):
        return _moment(value)
    if isinstance(type_, ice.TimestamptzType):
        return _moment(value).replace(tzinfo=UTC)
    if isinstance(type_, ice.TimeType):
        return _moment(value).time()
    return value


def _moment(microseconds: int) -> datetime:
    """Spark's years reach beyond Python's: such a moment becomes the first or last that Python has."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return datetime.max if microseconds > 0 else datetime.min
