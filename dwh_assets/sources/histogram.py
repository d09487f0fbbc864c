"""Cuts blocks with Spark, where too many rows would have to be read without it: by counting rows in ever finer spans of time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from dwh_assets.model.position import Position
from dwh_assets.sources.rows import instant
from dwh_assets.sources.source import Cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPANS = 4096
ROWS_TO_FETCH = 200_000


def cut_frame(
    frame: DataFrame, position: tuple[str, str], size: int, count: int, spans: int = SPANS, fetch: int = ROWS_TO_FETCH
) -> list[Cut]:
    """Up to `count` blocks over all rows of the frame, which begins after the last block and ends at upto."""
    pos, id_ = position
    rows = frame.select(f.unix_micros(pos).alias("pos"), f.col(id_).cast("decimal(20,0)").alias("id"))
    total, low, high = rows.agg(f.count("*"), f.min("pos"), f.max("pos")).collect()[0]
    cuts: list[Cut] = []
    taken = 0
    while taken < total and len(cuts) < count:
        next_, rank = _Histogram(rows, low, high, spans, fetch).find(min(taken + size, total))
        cuts.append(Cut(next_, rank - taken, takes_all=rank == total))
        taken = rank
    return cuts


@dataclass(frozen=True)
class _Histogram:
    """Rows between two instants, in microseconds, both included."""

    rows: DataFrame
    low: int
    high: int
    spans: int
    fetch: int

    def find(self, rank: int) -> tuple[Position, int]:
        """The row of this rank, and how many rows there are up to it and its equals."""
        if self.low == self.high:
            return self._among_equals(rank)
        width = -(-(self.high - self.low + 1) // self.spans)
        counts = self._counts(width)
        sums = list(accumulate(n for _, n in counts))
        index = bisect_left(sums, rank)
        span, inside = counts[index]
        before = sums[index] - inside
        low = self.low + span * width
        part = _Histogram(self.rows, low, min(low + width - 1, self.high), self.spans, self.fetch)
        next_, found = part._fetched(rank - before) if inside <= self.fetch else part.find(rank - before)
        return next_, before + found

    def _counts(self, width: int) -> list[tuple[int, int]]:
        span = f.floor((f.col("pos") - f.lit(self.low)) / f.lit(width)).cast("int")
        counted = self._part().groupBy(span.alias("span")).count().collect()
        return sorted((row[0], row[1]) for row in counted)

    def _part(self) -> DataFrame:
        return self.rows.where(f.col("pos").between(self.low, self.high))

    def _fetched(self, rank: int) -> tuple[Position, int]:
        pairs = sorted((row[0], int(row[1])) for row in self._part().collect())
        pos, id_ = pairs[rank - 1]
        return Position(instant(pos), id_), sum(pair <= (pos, id_) for pair in pairs)

    def _among_equals(self, rank: int) -> tuple[Position, int]:
        """More rows of one instant than are fetched: Spark sorts their ids."""
        id_ = self._part().orderBy("id").offset(rank - 1).limit(1).collect()[0][1]
        return Position(instant(self.low), int(id_)), self._part().where(f.col("id") <= f.lit(id_)).count()
