"""Cuts blocks with Spark, where too many rows would have to be read without it: by counting rows in ever finer spans of time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

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
    micros = f"unix_micros({position[0]})"
    total, low, high = frame.selectExpr("count(*)", f"min({micros})", f"max({micros})").collect()[0]
    cuts: list[Cut] = []
    taken = 0
    while taken < total and len(cuts) < count:
        next_, rank = _Histogram(frame, position, low, high, spans, fetch).find(min(taken + size, total))
        cuts.append(Cut(next_, rank - taken, takes_all=rank == total))
        taken = rank
    return cuts


@dataclass(frozen=True)
class _Histogram:
    """Rows between two instants, in microseconds, both included. SQL text only: pyspark's functions want a session of theirs."""

    frame: DataFrame
    position: tuple[str, str]
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
        part = replace(self, low=low, high=min(low + width - 1, self.high))
        next_, found = part._fetched(rank - before) if inside <= self.fetch else part.find(rank - before)
        return next_, before + found

    def _counts(self, width: int) -> list[tuple[int, int]]:
        spans = self._rows().selectExpr(f"cast((pos - {self.low}) div {width} as int) as span")
        return sorted((row[0], row[1]) for row in spans.groupBy("span").count().collect())

    def _rows(self) -> DataFrame:
        """As (pos in microseconds, id). The filter is on the column itself, so that Iceberg skips files by it."""
        pos, id_ = self.position
        inside = f"{pos} >= timestamp_micros({self.low}) and {pos} <= timestamp_micros({self.high})"
        return self.frame.where(inside).selectExpr(f"unix_micros({pos}) as pos", f"cast({id_} as decimal(20,0)) as id")

    def _fetched(self, rank: int) -> tuple[Position, int]:
        pairs = sorted((row[0], int(row[1])) for row in self._rows().collect())
        pos, id_ = pairs[rank - 1]
        return Position(instant(pos), id_), sum(pair <= (pos, id_) for pair in pairs)

    def _among_equals(self, rank: int) -> tuple[Position, int]:
        """More rows of one instant than are fetched: Spark sorts their ids."""
        id_ = int(self._rows().orderBy("id").offset(rank - 1).limit(1).collect()[0][1])
        return Position(instant(self.low), id_), self._rows().where(f"id <= cast('{id_}' as decimal(20,0))").count()
