"""What every source can do: say how far it is complete, cut blocks at row boundaries, read one, and find late rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from dwh_assets.model.events import Contents
from dwh_assets.model.position import Bounds, Position

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

HASH_MODULUS = 2**64


@dataclass(frozen=True)
class Observation:
    """How far a source is complete, and its newest row. Rows from the future do not count.

    A watermark once true stays true, so `None` means that nothing new is known: what was stored before still holds.
    """

    watermark: datetime | None
    newest: datetime | None
    pending: int = 0  # rows that no block holds yet, about, where that is known
    problem: str | None = None  # of a part of it, while the rest can be loaded


@dataclass(frozen=True)
class Cut:
    """One block to be: it ends at `next` and holds `rows`; `takes_all` if nothing is left between `next` and upto."""

    next: Position
    rows: int
    takes_all: bool
    contents: Contents | None = None  # of a block of events


@dataclass(frozen=True)
class Content:
    """A hash sum over the values of rows; `hashed` says by what it was made and of which columns."""

    hash_sum: int
    hashed: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.hashed[1:]


@dataclass(frozen=True)
class Fingerprint:
    """Count and hash sum of the (pos, id) of base rows; the sum of disjoint ranges is that of their union."""

    rows: int
    hash_sum: int
    bytes: int = field(default=0, compare=False)  # of the files that hold them, where that is known
    content: Content | None = field(default=None, compare=False)  # where it comes with the count

    def __post_init__(self) -> None:
        if not 0 <= self.hash_sum < HASH_MODULUS:
            raise ValueError(f"hash sum {self.hash_sum} is not an unsigned 64-bit value")

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, (self.hash_sum + other.hash_sum) % HASH_MODULUS, self.bytes + other.bytes)

    def appeared_since(self, then: Fingerprint) -> int:
        """The least number of rows that must have been added to get from `then` to this."""
        swapped = self.rows == then.rows and self.hash_sum != then.hash_sum
        return max(self.rows - then.rows, int(swapped))


NOTHING = Fingerprint(0, 0)


@dataclass(frozen=True)
class Noted:
    """What the ledger knows of the base rows of a block."""

    read: Fingerprint
    snapshot: int | None = None  # that they were read at
    files: str | None = None  # a digest of the files that held them when they were last looked at


@dataclass(frozen=True)
class Recount:
    """A block's base rows as they are `now`, beside what is known of them `then`, with what was learned of both on the way."""

    now: Fingerprint
    then: Fingerprint
    files: str | None = None
    rows: int = 0  # that were read for it

    @property
    def values_differ(self) -> bool:
        return None not in (self.now.content, self.then.content) and self.now.content != self.then.content


# A committed block: its id, its range, the snapshot its rows were read at, and what was read.
ReadRange = tuple[int, Bounds, int | None, Fingerprint]


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def observe(self, now: datetime) -> Observation:
        """How far the source is complete, never above `now`."""
        ...

    def snapshot(self) -> int | None:
        """The state to read at from now on; None where the source keeps no states."""
        ...

    def cut(self, last: Position, upto: datetime, size: int, count: int, shard: str | None = None) -> list[Cut]:
        """Up to `count` successive blocks of `size` rows, more only where rows share one (pos, id)."""
        ...

    def read(self, session: SparkSession, bounds: Bounds | None, snapshot: int | None, shard: str | None = None) -> DataFrame:
        """The rows of a block, or all rows where `bounds` is None."""
        ...

    def fingerprint(self, bounds: Bounds, snapshot: int | None, shard: str | None = None) -> Fingerprint: ...

    def late(self, ranges: Sequence[ReadRange], shard: str | None = None) -> dict[int, int]:
        """Block id -> rows that appeared in its range after it was read; blocks without late rows are left out."""
        ...

    def recount(self, bounds: Bounds, noted: Noted, shard: str | None = None) -> Recount | None:
        """Look at the rows of a committed block again, values included; None where a source cannot be asked for old rows."""
        ...
