"""Which of some keys a table holds already: its key columns are streamed past the keys, without the JVM and without an index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_BITS = 24  # of each look: tables of 16 MB stay in the processor's cache


@dataclass(frozen=True)
class Keys:
    """Keys of 128 bits, as two halves that are spread evenly."""

    hi: NDArray[np.int64]
    lo: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hi)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """By the first half; keys that are alike in any order, as to sort them stably takes three times as long."""
        return np.argsort(self.hi)

    def first_of_each(self) -> NDArray[np.bool_]:
        """True at the first place of each key."""
        order, hi = self.order, self.hi[self.order]
        begins = np.ones(len(self), np.bool_)
        begins[1:] = hi[1:] != hi[:-1]
        again = np.flatnonzero(~begins)
        if np.any(self.lo[order[again]] != self.lo[order[again - 1]]):  # keys with one first half and another second: never seen
            order = np.lexsort((self.lo, self.hi))
            hi, lo = self.hi[order], self.lo[order]
            begins[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
        found = np.zeros(len(self), np.bool_)
        if len(self):
            found[np.minimum.reduceat(order, np.flatnonzero(begins))] = True
        return found


def held(keys: Keys, batches: Iterable[pa.RecordBatch]) -> NDArray[np.bool_]:
    """True for each key that is among the rows; each batch has the halves as its first two columns."""
    found = np.zeros(len(keys), np.bool_)
    if not len(keys):
        return found
    search = _Search(keys)
    for batch in (each.drop_null() for each in batches):  # with nulls, numbers would become floats
        hi = batch.column(0).to_numpy(zero_copy_only=False)
        maybe = search.candidates(hi)
        if len(maybe):
            lo = batch.column(1).to_numpy(zero_copy_only=False)[maybe]
            search.mark(hi[maybe], lo, found)
    return found


class _Search:
    """Two tables of bits let almost only rows pass whose key is wanted; these are compared exactly."""

    def __init__(self, keys: Keys) -> None:
        self._order = keys.order
        self._hi, self._lo = keys.hi[self._order], keys.lo[self._order]
        self._first = np.zeros(1 << _BITS, np.bool_)
        self._second = np.zeros(1 << _BITS, np.bool_)
        self._first[_top(self._hi)] = True
        self._second[_next(self._hi)] = True

    def candidates(self, hi: NDArray[np.int64]) -> NDArray[np.intp]:
        maybe = np.flatnonzero(self._first[_top(hi)])
        return maybe[self._second[_next(hi[maybe])]]

    def mark(self, hi: NDArray[np.int64], lo: NDArray[np.int64], found: NDArray[np.bool_]) -> None:
        """Walk along the keys of equal first half: almost always there is one."""
        at = np.searchsorted(self._hi, hi, side="left")
        while len(at):
            inside = at < len(self._hi)
            at, hi, lo = at[inside], hi[inside], lo[inside]
            same = self._hi[at] == hi
            at, hi, lo = at[same], hi[same], lo[same]
            found[self._order[at[self._lo[at] == lo]]] = True
            at = at + 1


def _top(hi: NDArray[np.int64]) -> NDArray[np.uint32]:
    return (hi.view(np.uint64) >> np.uint64(64 - _BITS)).astype(np.uint32)


def _next(hi: NDArray[np.int64]) -> NDArray[np.uint32]:
    return (hi.view(np.uint64) >> np.uint64(64 - 2 * _BITS)).astype(np.uint32) & np.uint32((1 << _BITS) - 1)
