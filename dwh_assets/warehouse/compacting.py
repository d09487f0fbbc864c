"""Compaction: the many small files of a day are rewritten into larger ones, on a branch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyiceberg.types as ice
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyspark.sql.connect.session import SparkSession

from dwh_assets.warehouse.branches import Fork, head_of
from dwh_assets.warehouse.catalog import CATALOG, Catalog
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.session import spark_errors
from dwh_assets.warehouse.swapping import Swap

SMALL = 0.75  # of the wanted size
_EPOCH = date(1970, 1, 1)
_ANY_SIZE = 2**62


@dataclass(frozen=True)
class Heap:
    """The small files of one day of a table, or of all of a table that has no days."""

    table: str
    column: str | None  # that the days are taken from
    day: date | None
    files: tuple[FileStat, ...] = field(repr=False)

    def touches(self, low: datetime, high: datetime) -> bool:
        return self.day is None or (low < self._end and high >= self._begin)

    @property
    def condition(self) -> str:
        if self.day is None:
            return "true"
        return f"`{self.column}` >= {_timestamp(self._begin)} AND `{self.column}` < {_timestamp(self._end)}"

    @property
    def _begin(self) -> datetime:
        assert self.day is not None
        return datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)

    @property
    def _end(self) -> datetime:
        return self._begin + timedelta(days=1)


def heaps(catalog: Catalog, table: str, most: int, size: int) -> list[Heap]:
    """Where more than `most` files are small for files of this size, the oldest day first. From the manifests, without a JVM."""
    loaded = catalog.load(table)
    column, spec = _day_column(loaded), loaded.spec()
    if column is None and not spec.is_unpartitioned():
        return []
    by_day: dict[date | None, list[FileStat]] = defaultdict(list)
    for file in data_files(catalog, table, head_of(loaded)):
        if file.bytes < SMALL * size and file.file.spec_id == spec.spec_id:
            by_day[_day(file.partition)].append(file)
    days = sorted((day for day in by_day if (day is None) == (column is None)), key=lambda day: day or _EPOCH)
    return [Heap(table, column, day, tuple(by_day[day])) for day in days if len(by_day[day]) > most]


def rewrite(session: SparkSession, fork: Fork, heap: Heap, position: Sequence[str], size: int) -> None:
    """Rewrite the heap on the fork's branch. Sorted by position, so that a block's rows are in few pages of few files."""
    options = {"target-file-size-bytes": size, "min-input-files": 2, "max-file-size-bytes": _ANY_SIZE}
    listed = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    order = ", ".join(f"{column} ASC NULLS LAST" for column in position)
    strategy = f", strategy => 'sort', sort_order => '{order}'" if position else ""
    where = f", where => '{_quoted(heap.condition)}'" if heap.day is not None else ""
    with spark_errors(lambda: [file.path for file in heap.files], session):
        session.sql(
            f"CALL {CATALOG}.system.rewrite_data_files(table => '{fork.table}', branch => '{fork.branch}', "
            f"options => map({listed}){strategy}{where})"
        ).collect()


def same_content(session: SparkSession, catalog: Catalog, heap: Heap, swap: Swap) -> bool:
    """Whether old and new files hold the same rows, all columns counted, in any order."""
    if swap.rows_removed != swap.rows_added:
        return False
    columns = _hashed(catalog.load(heap.table))
    old = _content(session, heap, columns, swap.fork.snapshot_id, swap.removed)
    return old == _content(session, heap, columns, swap.tip, swap.added)


def _content(session: SparkSession, heap: Heap, columns: str, snapshot: int, files: Sequence[FileStat]) -> tuple[Any, ...]:
    paths = [file.path for file in files]
    listed = ", ".join(f"'{_quoted(path)}'" for path in paths)
    with spark_errors(lambda: paths, session):
        row = session.sql(
            f"SELECT count(*) AS n, sum(CAST(xxhash64({columns}) AS decimal(38, 0))) AS h "
            f"FROM {CATALOG}.{heap.table} VERSION AS OF {snapshot} WHERE {heap.condition} AND _file IN ({listed})"
        ).first()
    assert row is not None
    return tuple(row)


def _hashed(table: Table) -> str:
    """Spark's hash passes over nulls, so that each is told apart; it knows no maps, so that these are hashed as text."""
    parts = []
    for column in table.schema().fields:
        name = f"`{column.name}`"
        parts += [f"to_json(struct({name}))" if _has_map(column.field_type) else name, f"isnull({name})"]
    return ", ".join(parts)


def _has_map(type_: ice.IcebergType) -> bool:
    if isinstance(type_, ice.StructType):
        return any(_has_map(part.field_type) for part in type_.fields)
    return isinstance(type_, ice.MapType) or (isinstance(type_, ice.ListType) and _has_map(type_.element_type))


def _day_column(table: Table) -> str | None:
    fields = table.spec().fields
    if len(fields) != 1 or not isinstance(fields[0].transform, DayTransform):
        return None
    return table.schema().find_column_name(fields[0].source_id)


def _day(partition: tuple[Any, ...]) -> date | None:
    value = partition[0] if partition else None
    return _EPOCH + timedelta(days=value) if isinstance(value, int) else value


def _timestamp(instant: datetime) -> str:
    return f"timestamp '{instant:%Y-%m-%d %H:%M:%S}Z'"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
