"""The data files of an Iceberg table as a source sees them: positions checked, ranges for cutting, rows as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwh_assets.model.errors import BadPosition, SourceError
from dwh_assets.model.position import EARLIEST, MAX_ID, Bounds
from dwh_assets.sources.cutting import FileRange
from dwh_assets.sources.rows import Rows, instant, micros, together
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.reading import Span, read_columns
from dwh_assets.warehouse.schemas import sql_type

LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class TableFiles:
    """The files of one snapshot, of one shard or of all."""

    catalog: Catalog
    table: str
    position: tuple[str, str]
    shard_by: str | None
    shard: str | None
    snapshot: int

    def __post_init__(self) -> None:
        if self.shard is not None and self.shard_by is None:
            raise SourceError(
                f"table {self.table} is read by shard {self.shard}, but its file names no `shard_by` column.\n"
                "Nothing was read. Name it there, or take the shards out of the module."
            )

    def all(self) -> list[FileStat]:
        """Every file that may hold rows of the shard; a row without a usable position is an error."""
        files = data_files(self.catalog, self.table, self.snapshot)
        self._require_positions(files)
        return [file for file in files if file.rows and self._share(file) is not False]

    def ranges(self) -> list[FileRange]:
        return [self._range(file) for file in self.all()]

    def overlapping(self, files: Sequence[FileStat], bounds: Bounds) -> list[FileStat]:
        """Those that may hold rows of the range. Without statistics a file may hold any."""
        first, end = bounds.last.pos, bounds.next.pos
        return [f for f in files if not (self._upper(f, end) < first or self._lower(f, first) > end)]

    def rows(self, files: Sequence[FileStat]) -> Rows:
        return together(list(self._batches(files)))

    def within(self, files: Sequence[FileStat], bounds: Bounds) -> Iterator[Rows]:
        """The rows of the range, a batch at a time; files that lie wholly inside are not filtered."""
        inside = [file for file in files if self._is_inside(file, bounds)]
        others = [file for file in files if not self._is_inside(file, bounds)]
        yield from self._batches(inside)
        low = None if bounds.last.pos == EARLIEST.pos else bounds.last.pos
        for rows in self._batches(others, (Span(self.position[0], low, bounds.next.pos),)):
            yield rows.within(bounds)

    def newest(self, now: datetime) -> datetime | None:
        """The greatest pos not above `now`. Files that reach into the future are read for it."""
        files = self.all()
        known = [self._upper(file, LATEST) for file in files]
        best = max((upper for upper in known if upper <= now), default=None)
        beyond = [file for file, upper in zip(files, known, strict=True) if upper > now and self._lower(file, now) <= now]
        seen = [_greatest_up_to(now, batch.column(0)) for batch in self._read([self.position[0]], beyond)]
        return max((at for at in (best, *seen) if at is not None), default=None)

    def _read(self, columns: list[str], files: Sequence[FileStat], spans: Sequence[Span] = ()) -> Iterator[pa.RecordBatch]:
        return read_columns(self.catalog, self.table, self.snapshot, columns, spans, files) if files else iter(())

    def _lower(self, file: FileStat, otherwise: datetime) -> datetime:
        value = file.lower.get(self.position[0], otherwise)
        assert isinstance(value, datetime)
        return value

    def _upper(self, file: FileStat, otherwise: datetime) -> datetime:
        value = file.upper.get(self.position[0], otherwise)
        assert isinstance(value, datetime)
        return value

    def _is_inside(self, file: FileStat, bounds: Bounds) -> bool:
        return bounds.last.pos < self._lower(file, EARLIEST.pos) and self._upper(file, bounds.next.pos) < bounds.next.pos

    def _range(self, file: FileStat) -> FileRange:
        lower, upper = file.lower.get(self.position[0]), file.upper.get(self.position[0])
        return FileRange(
            key=file,
            rows=file.rows,
            lower=micros(lower) if isinstance(lower, datetime) else None,
            upper=micros(upper) if isinstance(upper, datetime) else None,
            counted=self._share(file) is True,
        )

    @cached_property
    def _shard_column(self) -> tuple[int, bool]:
        """The field id of the shard column, and whether it is text."""
        field = self.catalog.load(self.table).schema().find_field(self.shard_by or "")
        return field.field_id, sql_type(field.field_type) == "string"

    def _share(self, file: FileStat) -> bool | None:
        """True if all rows are of the shard, False if none is, None if only reading can tell."""
        if self.shard is None or self.shard_by is None:
            return True
        key, is_text = self._shard_column
        low, high = ((bounds or {}).get(key) for bounds in (file.file.lower_bounds, file.file.upper_bounds))
        # A cut-off upper bound is raised, so that equal bounds are whole values.
        if low is None or low != high or file.nulls.get(self.shard_by) != 0:
            return None
        value = low.decode() if is_text else str(file.lower.get(self.shard_by))
        return value == self.shard

    def _batches(self, files: Sequence[FileStat], spans: Sequence[Span] = ()) -> Iterator[Rows]:
        by_shard = [self.shard_by] if self.shard is not None and self.shard_by else []
        for batch in self._read(list({*self.position, *by_shard}), files, spans):
            if by_shard:
                shards = pc.cast(batch.column(by_shard[0]), pa.string())
                batch = batch.filter(pc.call_function("equal", [shards, pa.scalar(self.shard)]))
            if batch.num_rows:
                yield self._rows(batch)

    def _rows(self, batch: pa.RecordBatch) -> Rows:
        pos, id_ = batch.column(self.position[0]), batch.column(self.position[1])
        for name, column in zip(self.position, (pos, id_), strict=True):
            if column.null_count:
                raise self._bad(name, f"{column.null_count} rows have none (NULL)")
        return Rows(pos.view(pa.int64()).to_numpy(zero_copy_only=False), self._ids(id_))

    def _ids(self, column: pa.Array) -> NDArray[np.uint64]:
        if pa.types.is_decimal(column.type):
            words = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)[column.offset : column.offset + len(column)]
            if words[:, 1].any():
                raise self._bad(self.position[1], "some rows have one that is no unsigned 64-bit value")
            return np.ascontiguousarray(words[:, 0])
        values = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        if values.min() < 0:
            raise self._bad(self.position[1], "some rows have a negative one")
        return values.view(np.uint64)

    def _require_positions(self, files: Sequence[FileStat]) -> None:
        pos, id_ = self.position
        for name in self.position:
            if nulls := sum(file.nulls.get(name, 0) for file in files):
                raise self._bad(name, f"{nulls} rows have none (NULL)")
        for file in files:
            if file.rows and self._lower(file, LATEST) <= EARLIEST.pos:
                raise self._bad(pos, "some rows have one before year 1")
            low, high = file.lower.get(id_, 0), file.upper.get(id_, 0)
            if not (_number(low) >= 0 and _number(high) <= MAX_ID):
                raise self._bad(id_, "some rows have one that is no unsigned 64-bit value")

    def _bad(self, column: str, problem: str) -> BadPosition:
        return BadPosition(
            f"table {self.table}, column {column}: {problem}, so that no block would hold them.\n"
            "Nothing was read and no cursor moved. Correct these rows in the table, or name another column as `position`."
        )


def _greatest_up_to(now: datetime, column: pa.Array) -> datetime | None:
    values = column.drop_null().view(pa.int64()).to_numpy()
    values = values[values <= micros(now)]
    return instant(int(values.max())) if len(values) else None


def _number(value: Any) -> int:
    return int(value)


def require_columns(catalog: Catalog, table: str, position: tuple[str, str], shard_by: str | None) -> dict[str, str]:
    """The SQL types of the table's columns, once the position can be used."""
    types = {field.name: sql_type(field.field_type) for field in catalog.load(table).schema().fields}
    wanted = [*position, *([shard_by] if shard_by else [])]
    if missing := [name for name in wanted if name not in types]:
        raise SourceError(
            f"table {table} has no column {', '.join(missing)}. Nothing was read, no cursor moved.\n"
            f"It has {', '.join(types)}. Correct `position` or `shard_by` in its file, or restore the column."
        )
    if types[position[0]] != "timestamp":
        raise BadPosition(
            f"table {table}: column {position[0]} is {types[position[0]]}; a position needs a timestamp with time zone.\n"
            "Nothing was read. Build a table from this one whose pos is cast to timestamp, and read from that."
        )
    if types[position[1]] not in ("int", "bigint", *(f"decimal({precision},0)" for precision in range(1, 21))):
        raise BadPosition(
            f"table {table}: column {position[1]} is {types[position[1]]}; an id needs bigint or decimal(20,0).\n"
            "Nothing was read. Build a table from this one whose id is cast, and read from that."
        )
    return types
