"""Positions of many rows as arrays: microseconds and unsigned ids, compared as pairs, hashed and selected by numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from dwh_assets.model.position import MICROSECOND, Bounds, Position
from dwh_assets.sources.source import HASH_MODULUS, Fingerprint

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CHUNK = 1 << 15  # rows hashed at a time: all intermediate values stay in the processor's cache
_SHIFT = np.uint64(32)
_ODD_POS = np.uint64(0x9E3779B97F4A7C15)
_ODD_ID = np.uint64(0xC2B2AE3D27D4EB4F)
_ODD_MIX = np.uint64(0xD6E8FEB86659FD93)


def micros(instant: datetime) -> int:
    """Microseconds since 1970, exact for every instant that Python knows."""
    return (instant - EPOCH) // MICROSECOND


def instant(micros: int) -> datetime:
    return EPOCH + micros * MICROSECOND


@dataclass(frozen=True)
class Rows:
    """The (pos, id) of rows, in no order."""

    pos: NDArray[np.int64]
    id: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.pos)

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        return self if mask.all() else Rows(self.pos[mask], self.id[mask])

    def after(self, last: Position) -> Rows:
        pos, id_ = micros(last.pos), np.uint64(last.id)
        return self.where((self.pos > pos) | ((self.pos == pos) & (self.id > id_)))

    def up_to(self, next_: Position) -> Rows:
        pos, id_ = micros(next_.pos), np.uint64(next_.id)
        return self.where((self.pos < pos) | ((self.pos == pos) & (self.id <= id_)))

    def within(self, bounds: Bounds) -> Rows:
        return self.after(bounds.last).up_to(bounds.next)

    def hashes(self) -> NDArray[np.uint64]:
        """One hash a row. Not additive in pos or id alone, so that exchanging the ids of two rows changes the sum."""
        mixed = self.pos.view(np.uint64) * _ODD_POS + _ODD_MIX
        mixed ^= mixed >> _SHIFT
        mixed ^= self.id
        mixed *= _ODD_ID
        mixed ^= mixed >> _SHIFT
        mixed *= _ODD_MIX
        mixed ^= mixed >> _SHIFT
        return mixed

    def fingerprint(self) -> Fingerprint:
        total = 0
        for start in range(0, len(self), _CHUNK):
            part = Rows(self.pos[start : start + _CHUNK], self.id[start : start + _CHUNK])
            total += int(part.hashes().sum(dtype=np.uint64))
        return Fingerprint(len(self), total % HASH_MODULUS)


NO_ROWS = Rows(np.empty(0, np.int64), np.empty(0, np.uint64))


def together(parts: Sequence[Rows]) -> Rows:
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else NO_ROWS
    return Rows(np.concatenate([part.pos for part in parts]), np.concatenate([part.id for part in parts]))


def appeared(now: Rows, before: Rows) -> int:
    """How many of the rows `now` are not among those of `before`, each counted as often as it is there."""
    values, counts = np.unique(np.concatenate([now.hashes(), before.hashes()]), return_counts=True)
    gone = np.zeros(len(values), np.int64)
    np.add.at(gone, np.searchsorted(values, before.hashes()), 1)
    return int(np.maximum(counts - 2 * gone, 0).sum())
