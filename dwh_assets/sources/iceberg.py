"""An Iceberg table as a source: observed, cut and fingerprinted from its files without a JVM, read by Spark at a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from dwh_assets.model.errors import SourceError
from dwh_assets.model.position import MAX_ID, Bounds, Position
from dwh_assets.sources.cutting import ROWS_TO_READ, cut_files
from dwh_assets.sources.files import TableFiles, require_columns
from dwh_assets.sources.histogram import cut_frame
from dwh_assets.sources.recounting import recount
from dwh_assets.sources.rows import Rows, appeared, together
from dwh_assets.sources.source import NOTHING, Cut, Fingerprint, Noted, Observation, ReadRange, Recount
from dwh_assets.warehouse.catalog import CATALOG, Catalog
from dwh_assets.warehouse.file_stats import FileStat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession


@dataclass(frozen=True)
class IcebergSource:
    """`built`: the table is built here, so that its watermark is that of its topics and not observed."""

    catalog: Catalog
    table: str
    position: tuple[str, str] = ("pos", "id")
    watermark_delay: timedelta = timedelta()
    shard_by: str | None = None
    built: bool = False
    session: Callable[[], SparkSession] | None = None
    rows_to_read: int = ROWS_TO_READ
    counted: dict[int, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)  # see _appeared_once

    @property
    def name(self) -> str:
        return self.table

    def observe(self, now: datetime) -> Observation:
        self._types()
        snapshot = self.snapshot()
        newest = None if snapshot is None else self._files(snapshot, None).newest(now)
        watermark = None if newest is None or self.built else newest - self.watermark_delay
        return Observation(watermark, newest)

    def snapshot(self) -> int | None:
        head = self.catalog.load(self.table).current_snapshot()
        return None if head is None else head.snapshot_id

    def cut(self, last: Position, upto: datetime, size: int, count: int, shard: str | None = None) -> list[Cut]:
        self._types()
        snapshot = self.snapshot()
        if snapshot is None:
            return []
        files = self._files(snapshot, shard)

        def fallback(last: Position, upto: datetime, size: int, count: int) -> list[Cut]:
            frame = self._frame(self.spark(), snapshot, shard).where(self._condition(last, Position(upto, MAX_ID)))
            return cut_frame(frame, (f"`{self.position[0]}`", f"`{self.position[1]}`"), size, count)

        return cut_files(files.ranges(), last, upto, size, count, files.rows, fallback, self.rows_to_read)

    def read(self, session: SparkSession, bounds: Bounds | None, snapshot: int | None, shard: str | None = None) -> DataFrame:
        frame = self._frame(session, snapshot, shard)
        return frame if bounds is None else frame.where(self._condition(bounds.last, bounds.next))

    def fingerprint(self, bounds: Bounds, snapshot: int | None, shard: str | None = None) -> Fingerprint:
        if (snapshot := snapshot or self.snapshot()) is None:
            return NOTHING
        files = self._files(snapshot, shard)
        overlapping = files.overlapping(files.all(), bounds)
        read = Fingerprint(0, 0, sum(file.bytes for file in overlapping))
        return reduce(add, (rows.fingerprint() for rows in files.within(overlapping, bounds)), read)

    def late(self, ranges: Sequence[ReadRange], shard: str | None = None) -> dict[int, int]:
        """By the files that the head has and the snapshot that was read had not, less the rows of those that it replaced."""
        head = self.snapshot()
        if head is None or not ranges:
            return {}
        files = self._files(head, shard)
        now = {file.path: file for file in files.all()}
        first = self._oldest([snapshot for _, _, snapshot, _ in ranges])
        before = {} if first is None else self._paths(first, shard)
        fresh = [file for path, file in now.items() if path not in before]
        touched = [entry for entry in ranges if files.overlapping(fresh, entry[1])]
        found = {entry[0]: self._appeared_once(files, now, entry) for entry in touched}
        return {block: rows for block, rows in found.items() if rows}

    def recount(self, bounds: Bounds, noted: Noted, shard: str | None = None) -> Recount | None:
        return recount(self, bounds, noted, shard)

    def has_snapshot(self, snapshot: int | None) -> bool:
        return self._oldest([snapshot]) is not None

    def files_of(self, bounds: Bounds, snapshot: int, shard: str | None) -> list[FileStat]:
        """The files that may hold rows of the range."""
        files = self._files(snapshot, shard)
        return files.overlapping(files.all(), bounds)

    def _appeared_once(self, files: TableFiles, now: dict[str, FileStat], entry: ReadRange) -> int:
        """A range whose files are those of the last time is not read again: after a compaction, or once its snapshot has
        expired, every look would read it."""
        block, bounds, then, read = entry
        state = hash((then, read, frozenset(file.path for file in files.overlapping(list(now.values()), bounds))))
        if self.counted.get(block, (None,))[0] != state:
            self.counted[block] = state, self._appeared(files, now, bounds, then, read)
        return self.counted[block][1]

    def _appeared(
        self, files: TableFiles, now: dict[str, FileStat], bounds: Bounds, snapshot: int | None, then: Fingerprint
    ) -> int:
        before = None if self._oldest([snapshot]) is None else self._paths(snapshot or 0, files.shard)
        if before is None:
            return self.fingerprint(bounds, files.snapshot, files.shard).appeared_since(then)
        added = files.overlapping([file for path, file in now.items() if path not in before], bounds)
        gone = files.overlapping([file for path, file in before.items() if path not in now], bounds)
        if not gone:
            return sum(len(rows) for rows in files.within(added, bounds))
        return appeared(_rows(files, added, bounds), _rows(files, gone, bounds))

    def _oldest(self, snapshots: Sequence[int | None]) -> int | None:
        """The first of these snapshots in the table's history; None if one of them is not in it any more."""
        table = self.catalog.load(self.table)
        kept = [None if snapshot is None else table.snapshot_by_id(snapshot) for snapshot in snapshots]
        known = [snapshot for snapshot in kept if snapshot is not None]
        if len(known) < len(snapshots):
            return None
        return min(known, key=lambda snapshot: snapshot.sequence_number or 0).snapshot_id

    def _paths(self, snapshot: int, shard: str | None) -> dict[str, FileStat]:
        return {file.path: file for file in self._files(snapshot, shard).all()}

    def _files(self, snapshot: int, shard: str | None) -> TableFiles:
        self._refuse_delete_files(snapshot)
        return TableFiles(self.catalog, self.table, self.position, self.shard_by, shard, snapshot)

    def _refuse_delete_files(self, snapshot: int) -> None:
        known = self.catalog.load(self.table).snapshot_by_id(snapshot)
        summary = known.summary.additional_properties if known and known.summary else {}
        if int(summary.get("total-delete-files", "0")):
            raise SourceError(
                f"table {self.table} has delete files (merge on read), so its data files count rows that it no longer has.\n"
                "Nothing was read. Set its write.delete.mode, write.update.mode and write.merge.mode to copy-on-write and"
                " rewrite its data files."
            )

    def _types(self) -> dict[str, str]:
        return require_columns(self.catalog, self.table, self.position, self.shard_by)

    def spark(self) -> SparkSession:
        if self.session is None:
            raise SourceError(
                f"table {self.table}: only Spark can cut a block here, as over {self.rows_to_read} rows would have to be read.\n"
                "Nothing was read. Plan with a Spark session, or compact the table sorted by its position."
            )
        return self.session()

    def _frame(self, session: SparkSession, snapshot: int | None, shard: str | None) -> DataFrame:
        """The table at the snapshot: a warm session's idea of the head may be old (R15)."""
        types = self._types()
        reader = session.read if snapshot is None else session.read.option("versionAsOf", str(snapshot))
        frame = reader.table(f"{CATALOG}.{self.table}")
        if shard is None:
            return frame
        if self.shard_by is None:
            raise SourceError(f"table {self.table} is read by shard {shard}, but its file names no `shard_by` column.")
        text = shard.replace("\\", "\\\\").replace("'", "\\'")
        return frame.where(f"`{self.shard_by}` = cast('{text}' as {types[self.shard_by]})")

    def _condition(self, last: Position, next_: Position) -> str:
        """The range in a form that Iceberg prunes files by: plain comparisons first, the pairs only for equal pos."""
        pos, id_ = (f"`{name}`" for name in self.position)
        type_ = self._types()[self.position[1]]
        low, high = _timestamp(last.pos), _timestamp(next_.pos)
        return (
            f"{pos} >= {low} and {pos} <= {high}"
            f" and ({pos} > {low} or {id_} > {_id(last.id, type_)})"
            f" and ({pos} < {high} or {id_} <= {_id(next_.id, type_)})"
        )


def _rows(files: TableFiles, some: Sequence[FileStat], bounds: Bounds) -> Rows:
    return together(list(files.within(some, bounds)))


def _timestamp(instant: datetime) -> str:
    at = instant.astimezone(UTC)
    return f"timestamp '{at.year:04}-{at:%m-%d %H:%M:%S.%f}Z'"


def _id(value: int, type_: str) -> str:
    """A literal of the column's own type: any other would cast the column, and then nothing is pushed down."""
    if type_ in ("int", "bigint"):
        return f"cast('{min(value, 2**63 - 1)}' as bigint)"
    return f"cast('{value}' as decimal(20,0))"
