"""Cuts a table into blocks of a given number of rows from the statistics of its files, reading as few of them as possible.

For a threshold t, the files that begin at or below t hold at most so many rows up to t, those that end below it at least
so many. The k-th row lies nowhere before the first t where the former reaches k. Only files that straddle that t have
to be read; then it is either proven to be the place, or moves up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwh_assets.model.position import Position
from dwh_assets.sources.rows import NO_ROWS, Rows, instant, micros, together
from dwh_assets.sources.source import Cut

ROWS_TO_READ = 20_000_000
_BEFORE_ALL = np.iinfo(np.int64).min
_AFTER_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True)
class FileRange:
    """What is known of a file without reading it. Without bounds it may hold any position.

    `counted` is False where fewer than `rows` may count, as only some are of the shard or some are deleted.
    """

    key: Any
    rows: int
    lower: int | None
    upper: int | None
    counted: bool = True


ReadFiles = Callable[[Sequence[Any]], Rows]
Fallback = Callable[[Position, datetime, int, int], list[Cut]]


class TooMuchToRead(Exception):
    """The files that one cut would have to read hold more rows than the limit; the fallback is asked instead."""


def cut_files(
    files: Sequence[FileRange],
    last: Position,
    upto: datetime,
    size: int,
    count: int,
    read: ReadFiles,
    fallback: Fallback,
    limit: int = ROWS_TO_READ,
) -> list[Cut]:
    """Up to `count` successive blocks after `last` of at least `size` rows each, none above `upto`."""
    if size < 1:
        raise ValueError(f"a block needs at least one row, not {size}")
    search = _Search.over(files, last, upto, read, limit)
    cuts: list[Cut] = []
    try:
        while len(cuts) < count and (cut := search.next_cut(size)) is not None:
            cuts.append(cut)
    except TooMuchToRead:
        start = cuts[-1].next if cuts else last
        return cuts + fallback(start, upto, size, count - len(cuts))
    return cuts


@dataclass
class _Search:
    """Unread files in order of their lower bound, and the rows of the read ones that no cut has taken yet."""

    files: list[FileRange]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    rows: NDArray[np.int64]
    counted: NDArray[np.bool_]
    last: Position
    upto: int
    read: ReadFiles
    limit: int
    known: Rows = NO_ROWS
    order: NDArray[np.int64] = field(default_factory=lambda: NO_ROWS.pos)  # the pos of `known`, sorted
    spent: int = 0

    @classmethod
    def over(cls, files: Sequence[FileRange], last: Position, upto: datetime, read: ReadFiles, limit: int) -> _Search:
        start, end = micros(last.pos), micros(upto)
        bounded = [(_BEFORE_ALL if f.lower is None else f.lower, _AFTER_ALL if f.upper is None else f.upper, f) for f in files]
        inside = [(lower, upper, f) for lower, upper, f in bounded if f.rows and upper >= start and lower <= end]
        inside.sort(key=lambda entry: entry[:2])
        lower = np.array([entry[0] for entry in inside], np.int64)
        counted = np.array([f.counted for *_, f in inside], np.bool_)
        return cls(
            files=[f for *_, f in inside],
            lower=lower,
            upper=np.array([entry[1] for entry in inside], np.int64),
            rows=np.array([f.rows for *_, f in inside], np.int64),
            counted=counted & (lower > start),  # a file that touches `last` holds rows of the block before
            last=last,
            upto=end,
            read=read,
            limit=limit,
        )

    def next_cut(self, size: int) -> Cut | None:
        """The next block, or None if no row is left; the search then goes on behind it."""
        self.spent = 0
        place = self._place_of(size)
        if place is None and (place := self._greatest()) is None:
            return None
        before = int(self.rows[self.upper < place].sum())
        next_ = self._position(place, size - before)
        taken = before + len(self.known.up_to(next_))
        self._go_behind(next_)
        return Cut(next_, taken, takes_all=not self._anything_left())

    def _place_of(self, size: int) -> int | None:
        """The pos of the row number `size`, with every file read that may hold rows at it; None if there are fewer rows."""
        while (place := self._first_possible(size)) is not None:
            straddling = (self.lower <= place) & ~(self.counted & (self.upper < place))
            if not straddling.any():
                return place
            self._read(straddling)
        return None

    def _first_possible(self, size: int) -> int | None:
        """The least pos up to which there can be `size` rows, as if each unread file lay at its lower bound."""
        most = np.cumsum(self.rows)
        reached = most + np.searchsorted(self.order, self.lower, side="right")
        index = int(np.argmax(reached >= size)) if (reached >= size).any() else len(most)
        rank = size - (int(most[index - 1]) if index else 0)
        at_row = int(self.order[rank - 1]) if rank <= len(self.order) else None
        if index == len(most):
            return at_row
        at_file = int(self.lower[index])
        return at_file if at_row is None else min(at_row, at_file)

    def _greatest(self) -> int | None:
        """The greatest pos that is left, with every file read that may hold it or whose count is not certain."""
        self._read(~self.counted | (self.upper > self.upto))
        while len(self.files) and (not len(self.order) or self.upper.max() >= self.order[-1]):
            self._read(self.upper == self.upper.max())
        return int(self.order[-1]) if len(self.order) else None

    def _position(self, pos: int, rank: int) -> Position:
        """The row of this rank among the known ones, whose pos is known; the last one of this pos if there are fewer."""
        ids = np.sort(self.known.id[self.known.pos == pos])
        index = rank - int(np.searchsorted(self.order, pos, side="left")) - 1
        return Position(instant(pos), int(ids[min(index, len(ids) - 1)]))

    def _go_behind(self, next_: Position) -> None:
        self._keep(self.upper >= micros(next_.pos))
        self.known = self.known.after(next_)
        self.order = self.order[len(self.order) - len(self.known) :]
        self.last = next_

    def _anything_left(self) -> bool:
        """Whether a row is left; yes, if that is too much to read: the next search will tell."""
        try:
            while not len(self.known) and len(self.files) and not self.counted.any():
                self._read(np.arange(len(self.files)) == 0)
        except TooMuchToRead:
            return True
        return bool(len(self.known) or len(self.files))

    def _read(self, chosen: NDArray[np.bool_]) -> None:
        if not chosen.any():
            return
        self.spent += int(self.rows[chosen].sum())
        if self.spent > self.limit:
            raise TooMuchToRead
        keys = [self.files[index].key for index in np.flatnonzero(chosen)]
        fresh = self.read(keys).after(self.last)
        fresh = fresh.where(fresh.pos <= self.upto)
        self._keep(~chosen)
        self.known = together([self.known, fresh])
        self.order = np.sort(np.concatenate([self.order, np.sort(fresh.pos)]), kind="stable")  # merges two sorted runs

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        self.files = [self.files[index] for index in np.flatnonzero(kept)]
        self.lower, self.upper = self.lower[kept], self.upper[kept]
        self.rows, self.counted = self.rows[kept], self.counted[kept]
