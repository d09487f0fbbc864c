"""Rows that a person looks at: taken out of Spark as plain values, a few of them or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.types import StructType

from dwh_assets.model.errors import SqlRefused
from dwh_assets.processors.processor import AUDIT
from dwh_assets.processors.transform import analysed
from dwh_assets.warehouse.session import spark_errors


@dataclass(frozen=True)
class Rows:
    """Rows with the types of their columns; `more` if there were others."""

    columns: dict[str, str]
    rows: list[dict[str, Any]]
    more: bool = False


def first_rows(frame: DataFrame, name: str, limit: int | None) -> Rows:
    """The first rows that come, or all of them; no order is made."""
    with asking(name):
        columns = analysed(frame, name, "it")
        frame = frame.toDF(*distinct(columns.names))
        table = (frame if limit is None else frame.limit(limit + 1)).toArrow()
    types = {name: field.dataType.simpleString() for name, field in zip(table.column_names, columns.fields, strict=True)}
    shown = table if limit is None else table.slice(0, limit)
    return Rows(types, shown.to_pylist(), len(table) > len(shown))


@contextmanager
def asking(name: str) -> Iterator[None]:
    """What fails while rows are made, such as a division by zero, is the fault of the query and said in its first line."""
    try:
        with spark_errors():
            yield
    except PySparkException as error:
        raise SqlRefused(f"{name}: {str(error).splitlines()[0]}") from error


def distinct(names: list[str]) -> list[str]:
    """Two columns of a query may share a name; rows by name need one each."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        found.append(name if seen[name.lower()] == 1 else f"{name}_{seen[name.lower()]}")
    return found


def without_audit(frame: DataFrame) -> DataFrame:
    return frame.drop(*AUDIT)


def batches(frame: DataFrame, name: str) -> Iterator[pa.Table]:
    """All rows, part by part as Spark hands them over: what is large never stands in memory as a whole. The first part tells the
    columns and may be empty."""
    with asking(name):
        columns = analysed(frame, name, "it")
        frame = frame.toDF(*distinct(columns.names))
        assert isinstance(frame, ConnectDataFrame)
        empty = frame.limit(0).toArrow()
        yield empty
        client = frame.sparkSession.client
        for part in client.to_table_as_iterator(frame._plan.to_proto(client), frame._plan.observations):
            if not isinstance(part, StructType):
                yield part.cast(empty.schema)
