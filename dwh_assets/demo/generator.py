"""A seeded retail business: the same seed and start give the same rows, however the time is cut into intervals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dwh_assets.demo.clock import Clock
from dwh_assets.demo.shop import Row, Shop
from dwh_assets.demo.streams import LATENESS, STREAMS, Stream

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OUTSIDE_CELL = timedelta(seconds=3)  # a payment's pos lies at most this long after its order's cell


class Generator:
    """Two days of thin past (about 60,000 rows), then about 50 rows a second; `scale` multiplies both."""

    def __init__(self, seed: int, start: datetime, scale: float = 1.0, past: timedelta = timedelta(days=2)) -> None:
        self.clock = Clock(start.astimezone(UTC).replace(microsecond=0), past)
        self.shop = Shop(seed, self.clock, scale)

    @property
    def opening(self) -> datetime:
        """When the past ends and the live feed begins."""
        return self.clock.opening

    def between(self, after: datetime | None, upto: datetime) -> dict[str, list[Row]]:
        """The rows of every outside table that arrive in `(after, upto]`; None means since ever."""
        return {stream.name: self.rows(stream, after, upto) for stream in STREAMS}

    def rows(self, stream: Stream, after: datetime | None, upto: datetime) -> list[Row]:
        """The rows of one outside table that arrive in `(after, upto]`, in the order of their arrival."""
        after = after or self.clock.start - _MICROSECOND
        if _last_delivery(stream, upto) <= after:
            return []
        arrivals = [(arrival, row) for arrival, row in self._candidates(stream, after, upto) if after < arrival <= upto]
        arrivals.sort(key=lambda pair: pair[0])
        return [row for _, row in arrivals]

    def _candidates(self, stream: Stream, after: datetime, upto: datetime) -> Iterator[tuple[datetime, Row]]:
        first = self.clock.cell_of(after - stream.every - LATENESS - _OUTSIDE_CELL)
        if upto < self.clock.start:
            return
        for cell in range(first, self.clock.cell_of(upto) + 1):
            for row in self.shop.rows(stream.name, cell):
                yield _arrival(stream, row), row


def _arrival(stream: Stream, row: Row) -> datetime:
    """When the row reaches its table. Rows that share a (pos, id) arrive together."""
    pos, id_ = row[0], row[1]
    assert isinstance(pos, datetime) and isinstance(id_, int)  # noqa: PT018 - the first two columns are the position
    lateness = id_ * 2_654_435_761 % (LATENESS // _MICROSECOND) * _MICROSECOND
    return _next_delivery(stream, pos + lateness)


def _next_delivery(stream: Stream, instant: datetime) -> datetime:
    if not stream.every:
        return instant
    return _EPOCH - (_EPOCH - instant) // stream.every * stream.every


def _last_delivery(stream: Stream, instant: datetime) -> datetime:
    if not stream.every:
        return instant
    return _EPOCH + (instant - _EPOCH) // stream.every * stream.every
