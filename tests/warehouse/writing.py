"""Rows for the tests of the warehouse, and ways to write and read them without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyspark.sql.types as spark
from pyiceberg.io.pyarrow import schema_to_pyarrow

from dwh_assets.warehouse.branches import Fork
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.publish import Pointer

SALES = "fact.sales"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BIG = 2**63
COLUMNS = spark.StructType(
    [
        spark.StructField("pos", spark.TimestampType()),
        spark.StructField("id", spark.DecimalType(20, 0)),
        spark.StructField("amount", spark.DoubleType()),
        spark.StructField("segment", spark.StringType()),
    ]
)


def parameters(pointer: Pointer) -> dict[str, str | bool]:
    names = ("namespace", "name", "old_location", "new_location")
    return {name: getattr(pointer, name) for name in names} | {"check_pointer": True}


def row(number: int, amount: float | None = 1.0, segment: str | None = "a") -> dict[str, object]:
    pos = NOON + timedelta(hours=number)
    own = {"pos": pos, "id": Decimal(BIG + number), "amount": amount, "segment": segment}
    return {**own, "_block": 1, "_execution": 1, "_loaded_at": NOON}


def append(catalog: Catalog, table: str, branch: str, rows: list[dict[str, object]], execution: int = 1) -> None:
    """Append to a branch without Spark."""
    loaded = catalog.load(table)
    data = pa.Table.from_pylist(rows, schema_to_pyarrow(loaded.schema(), include_field_ids=False))
    loaded.append(data, branch=branch, snapshot_properties={"dwh.execution": str(execution)})


def stage(catalog: Catalog, fork: Fork, numbers: range) -> None:
    append(catalog, fork.table, fork.branch, [row(number) for number in numbers], int(fork.branch[1:]))


def ids(catalog: Catalog, table: str) -> list[int]:
    """What a reader of main sees, less the offset that all ids share."""
    return sorted(int(value) - BIG for value in catalog.load(table).scan().to_arrow()["id"].to_pylist())
