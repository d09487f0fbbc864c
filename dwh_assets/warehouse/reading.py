"""Reading a few columns of a table without a JVM, file by file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
from pyiceberg.exceptions import ResolveError
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.io.pyarrow import ArrowScan, UnsupportedPyArrowTypeException
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import DecimalType

from dwh_assets.model.errors import DamagedData
from dwh_assets.warehouse.bounds import Value
from dwh_assets.warehouse.catalog import NONSENSE, Catalog
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import snapshot_of_id


@dataclass(frozen=True)
class Span:
    """Rows whose column lies between `low` and `high`, both included; None leaves a side open."""

    column: str
    low: Value | None = None
    high: Value | None = None


def read_columns(
    catalog: Catalog,
    table: str,
    snapshot_id: int,
    columns: Sequence[str],
    within: Sequence[Span] = (),
    files: Collection[FileStat] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows as of a snapshot, in no order; one file is held in memory at a time. `files` restricts the read to them."""
    loaded = catalog.load(table)
    snapshot_of_id(loaded, snapshot_id)
    condition = _condition(loaded, within)
    scan = loaded.scan(condition, selected_fields=tuple(columns), snapshot_id=snapshot_id)
    tasks = scan.plan_files() if files is None else [FileScanTask(file.file) for file in files]
    # Not scan.to_arrow_batch_reader(): it starts on all files at once and holds what it has read.
    reader = ArrowScan(loaded.metadata, loaded.io, scan.projection(), condition)
    for task in tasks:
        with catalog.asking(table):
            batches = _batches(reader, task)
        yield from batches


def _batches(reader: ArrowScan, task: FileScanTask) -> list[pa.RecordBatch]:
    try:
        return list(reader.to_record_batches([task]))
    except (pa.ArrowException, OSError, ResolveError, UnsupportedPyArrowTypeException, *NONSENSE) as error:
        if _is_of_the_disk(error):
            raise
        raise DamagedData(
            f"a data file is damaged: {task.file.file_path}; nothing was published.\n"
            "Restore the file from a backup, or load its block again (dwh repair)."
        ) from error


def _is_of_the_disk(error: Exception) -> bool:
    """No file, no room, no answer. A page that makes no sense is an OSError too, for Arrow, but without a number."""
    return isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None or "AWS Error" in str(error))


def _condition(table: Table, within: Sequence[Span]) -> BooleanExpression:
    condition: BooleanExpression = AlwaysTrue()
    for span in within:
        if span.low is not None:
            condition &= GreaterThanOrEqual(span.column, _literal(table, span.column, span.low))  # pyright: ignore[reportCallIssue]
        if span.high is not None:
            condition &= LessThanOrEqual(span.column, _literal(table, span.column, span.high))  # pyright: ignore[reportCallIssue]
    return condition


def _literal(table: Table, column: str, value: Value) -> Value | str:
    if isinstance(value, int) and isinstance(table.schema().find_type(column), DecimalType):
        return Decimal(value)
    return value.isoformat() if isinstance(value, datetime) else value
