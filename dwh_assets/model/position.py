"""Positions `(pos, id)` and the half-open ranges between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
MAX_ID = 2**64 - 1


@dataclass(frozen=True, order=True)
class Position:
    """One place in a base table. Compared as a pair: first the instant, then the id."""

    pos: datetime
    id: int

    def __post_init__(self) -> None:
        if self.pos.tzinfo is None:
            raise ValueError(f"a position needs an instant with a time zone, not {self.pos}")
        if not 0 <= self.id <= MAX_ID:
            raise ValueError(f"id {self.id} is not an unsigned 64-bit value")

    def __str__(self) -> str:
        return f"({self.pos.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}, {self.id})"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = Position(datetime(1, 1, 1, tzinfo=UTC), 0)


@dataclass(frozen=True)
class Bounds:
    """The range `(last, next]` of a block."""

    last: Position
    next: Position

    def __post_init__(self) -> None:
        if not self.last < self.next:
            raise ValueError(f"a block must move forward: {self.last} to {self.next}")

    def __contains__(self, position: Position) -> bool:
        return self.last < position <= self.next

    def __str__(self) -> str:
        return f"({self.last} .. {self.next}]"


def watermark_of(next_: Position, upto: datetime, takes_all: bool) -> datetime:
    """How far a topic is complete after a block: not simply its cursor, as a block may end between rows of equal pos."""
    return upto if takes_all else next_.pos - MICROSECOND
