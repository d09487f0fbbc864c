"""Positions as Postgres sends them in its binary form of COPY: a fixed number of bytes a row, taken as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dwh_assets.sources.rows import Rows

_HEADER = 19  # signature, flags, length of an extension that is not used
_POSITION = [("fields", ">i2"), ("pos_size", ">i4"), ("pos", ">i8"), ("id_size", ">i4"), ("id", ">i8")]
_ROW = np.dtype(_POSITION)
_HASHED_ROW = np.dtype([*_POSITION, ("hash_size", ">i4"), ("hash", ">i8")])
_EPOCH = 946_684_800_000_000  # microseconds from 1970 to 2000, where Postgres begins to count
_TWO63 = np.uint64(1 << 63)
_ENOUGH = 1 << 20  # bytes that are worth an array


def positions(parts: Iterable[bytes | bytearray | memoryview]) -> Iterator[Rows]:
    """The (pos, id) of each row of a COPY of an instant and of an id that was moved by 2^63."""
    yield from (_rows(table) for table in _tables(parts, _ROW))


def hashed_positions(parts: Iterable[bytes | bytearray | memoryview]) -> Iterator[tuple[Rows, int]]:
    """The same where a hash of the row follows: also the sum of the hashes."""
    for table in _tables(parts, _HASHED_ROW):
        yield _rows(table), int(table["hash"].astype(np.int64).view(np.uint64).sum(dtype=np.uint64))


def _tables(parts: Iterable[bytes | bytearray | memoryview], row: np.dtype[np.void]) -> Iterator[NDArray[np.void]]:
    rest, header = bytearray(), _HEADER
    for part in parts:
        rest += part
        if header and len(rest) >= header:
            del rest[:header]
            header = 0
        if not header and len(rest) >= _ENOUGH:
            whole = len(rest) // row.itemsize * row.itemsize
            yield np.frombuffer(bytes(rest[:whole]), row)
            del rest[:whole]
    whole = len(rest) // row.itemsize * row.itemsize  # two bytes that mark the end stay behind
    if not header and whole:
        yield np.frombuffer(bytes(rest[:whole]), row)


def _rows(table: NDArray[np.void]) -> Rows:
    moved = table["id"].astype(np.int64).view(np.uint64)
    return Rows(table["pos"].astype(np.int64) + _EPOCH, moved + _TWO63)
