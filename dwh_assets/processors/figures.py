"""What Spark counts of the rows that a block is about to publish, where the manifests cannot say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession

from dwh_assets.model.module import Module
from dwh_assets.model.position import EPOCH
from dwh_assets.processors.processor import AUDIT
from dwh_assets.warehouse.session import spark_errors


@dataclass(frozen=True)
class Figures:
    """Row count, nulls and bounds by column, and the declared aggregates by alias."""

    rows: int
    nulls: dict[str, int]
    lower: dict[str, Any]
    upper: dict[str, Any]
    declared: dict[str, Any] = field(default_factory=dict)


def figures_of_rows(module: Module, rows: DataFrame) -> Figures:
    """One block's own rows: manifests of a merge also count the rows it rewrote."""
    with spark_errors():
        found = rows.agg(*_aggregates(module, rows)).first()
    assert found is not None
    return _figures(module, rows, found.asDict())


def _logged(module: Module) -> list[Column]:
    """What is declared to be logged of each block: measures and expectations."""
    measures = [F.expr(aggregate).alias(f"m_{name}") for name, aggregate in module.measures.items()]
    return measures + [F.expr(f"count_if({p})").alias(f"e_{name}") for name, p in module.expect.items()]


def figures_by_block(module: Module, rows: DataFrame) -> dict[int, Figures]:
    with spark_errors():
        found = rows.groupBy("_block").agg(*_aggregates(module, rows), *_logged(module)).collect()
    return {row["_block"]: _figures(module, rows, row.asDict()) for row in found}


def _aggregates(module: Module, rows: DataFrame) -> list[Column]:
    pos, id_ = module.position
    wanted = [F.count(F.lit(1)).alias("rows")]
    wanted += [F.count_if(F.col(column).isNull()).alias(f"n_{column}") for column in _own(rows)]
    if id_ in rows.columns:
        wanted.append(F.max(id_).alias("max_id"))
    if pos in rows.columns:
        wanted += [F.unix_micros(F.min(pos)).alias("min_pos"), F.unix_micros(F.max(pos)).alias("max_pos")]
    return wanted


def _own(rows: DataFrame) -> list[str]:
    return [column for column in rows.columns if column not in AUDIT and not column.startswith("_")]


def _figures(module: Module, rows: DataFrame, found: dict[str, Any]) -> Figures:
    pos, id_ = module.position
    nulls = {column: found[f"n_{column}"] for column in _own(rows)}
    upper = {pos: _instant(found.get("max_pos")), id_: found.get("max_id")}
    declared = {name: value for name, value in found.items() if name.startswith(("m_", "e_"))}
    return Figures(found["rows"], nulls, {pos: _instant(found.get("min_pos"))}, upper, declared)


def _instant(microseconds: int | None) -> datetime | None:
    """Instants come as microseconds: what Spark hands over as a datetime has lost its zone."""
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)


def declared_figures(module: Module, rows: DataFrame) -> dict[str, Any]:
    """Measures, expectations and uniqueness in one query over the rows, where any are declared."""
    wanted = _logged(module)
    for check in module.checks:
        if check.kind == "expect":
            wanted.append(F.expr(f"count_if({check.predicate})").alias(f"c_{check.name}"))
        elif check.kind == "unique":
            keys = ", ".join(f"`{c}`" for c in check.columns)
            wanted.append(F.expr(f"count(*) - count(DISTINCT struct({keys}))").alias(f"c_{check.name}"))
    if not wanted:
        return {}
    with spark_errors():
        row = rows.agg(*wanted).first()
    assert row is not None
    return row.asDict()


def rows_and_writers(session: SparkSession, table: str, snapshot: int) -> dict[int | None, tuple[int, set[int]]]:
    """For each block in a table: its rows, and the executions that wrote them."""
    frame = session.read.option("versionAsOf", str(snapshot)).table(f"dwh.{table}")
    grouped = frame.groupBy("_block").agg(F.count(F.lit(1)).alias("n"), F.collect_set("_execution").alias("e"))
    return {row["_block"]: (row["n"], set(row["e"])) for row in grouped.collect()}
