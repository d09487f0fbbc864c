from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwh_assets.model.position import EARLIEST, Position
from dwh_assets.sources.cutting import FileRange, cut_files
from dwh_assets.sources.rows import Rows, instant, together
from dwh_assets.sources.source import Cut

Pair = tuple[int, int]


class Table:
    """Files of (pos, id) pairs in memory; remembers which were read."""

    def __init__(self, files: Sequence[Sequence[Pair]], unknown: Sequence[int] = (), uncounted: Sequence[int] = ()) -> None:
        self.files = files
        self.read_keys: list[int] = []
        self.ranges = [self._range(key, rows, key in unknown, key not in uncounted) for key, rows in enumerate(files)]

    @staticmethod
    def _range(key: int, rows: Sequence[Pair], unknown: bool, counted: bool) -> FileRange:
        if unknown or not rows:
            return FileRange(key, len(rows), None, None, counted)
        return FileRange(key, len(rows), min(rows)[0], max(rows)[0], counted)

    def read(self, keys: Sequence[int]) -> Rows:
        self.read_keys += keys
        return together([_rows(self.files[key]) for key in keys])

    def no_fallback(self, *_: object) -> list[Cut]:
        raise AssertionError("the fallback was asked")

    def cut(self, size: int, count: int = 99, last: Position = EARLIEST, upto: int = 10**15, limit: int = 10**9) -> list[Cut]:
        return cut_files(self.ranges, last, instant(upto), size, count, self.read, self.no_fallback, limit)


def _rows(pairs: Sequence[Pair]) -> Rows:
    return Rows(np.array([p for p, _ in pairs], np.int64), np.array([i for _, i in pairs], np.uint64))


def _at(pos: int, id_: int) -> Position:
    return Position(instant(pos), id_)


def _expected(pairs: Sequence[Pair], last: Position, upto: int, size: int, count: int) -> list[Cut]:
    """The same blocks, found by sorting every row."""
    left = sorted(p for p in pairs if _at(*p) > last and p[0] <= upto)
    cuts = []
    while left and len(cuts) < count:
        end = left[min(size, len(left)) - 1]
        taken = sum(1 for p in left if p <= end)
        left = left[taken:]
        cuts.append(Cut(_at(*end), taken, takes_all=not left))
    return cuts


pairs = st.tuples(st.integers(0, 30), st.sampled_from([0, 1, 2, 3, 2**63, 2**64 - 1]))


@settings(max_examples=400, deadline=None)
@given(
    files=st.lists(st.lists(pairs, max_size=8), max_size=8),
    unknown=st.sets(st.integers(0, 7), max_size=2),
    uncounted=st.sets(st.integers(0, 7), max_size=3),
    last=st.one_of(st.just(EARLIEST), pairs.map(lambda p: _at(*p))),
    upto=st.integers(0, 31),
    size=st.integers(1, 12),
    count=st.integers(1, 5),
)
def test_blocks_are_those_that_sorting_all_rows_gives(files, unknown, uncounted, last, upto, size, count):
    table = Table(files, tuple(unknown), tuple(uncounted))
    expected = _expected([p for f in files for p in f], last, upto, size, count)
    assert table.cut(size, count, last, upto) == expected
    assert len(table.read_keys) == len(set(table.read_keys)), "a file was read twice"


@settings(max_examples=100, deadline=None)
@given(files=st.lists(st.lists(pairs, min_size=1, max_size=8), max_size=8), size=st.integers(1, 9), limit=st.integers(0, 30))
def test_the_fallback_goes_on_where_the_limit_is_reached(files, size, limit):
    every = [p for f in files for p in f]
    table = Table(files)

    def fallback(last: Position, upto: object, size: int, count: int) -> list[Cut]:
        return _expected(every, last, 31, size, count)

    cuts = cut_files(table.ranges, EARLIEST, instant(31), size, 9, table.read, fallback, limit)
    assert [(c.next, c.rows) for c in cuts] == [(c.next, c.rows) for c in _expected(every, EARLIEST, 31, size, 9)]


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3), st.booleans()), max_size=40), size=st.integers(1, 9))
def test_rows_that_the_reader_filters_out_of_uncounted_files_do_not_count(rows, size):
    files = [rows[i : i + 7] for i in range(0, len(rows), 7)]
    ranges = [FileRange(f, len(f), min(f)[0], max(f)[0], counted=all(mine for *_, mine in f)) for f in files]

    def read(keys: Sequence[Sequence[tuple[int, int, bool]]]) -> Rows:
        return _rows([(pos, id_) for f in keys for pos, id_, mine in f if mine])

    expected = _expected([(pos, id_) for pos, id_, mine in rows if mine], EARLIEST, 99, size, 99)
    assert cut_files(ranges, EARLIEST, instant(99), size, 99, read, Table([]).no_fallback) == expected


def test_only_the_files_at_the_ends_of_blocks_are_read():
    table = Table([[(100 * f + r, r) for r in range(10)] for f in range(50)])
    assert [c.rows for c in table.cut(size=100, count=3)] == [100, 100, 100]
    assert sorted(table.read_keys) == [9, 19, 29]


def test_a_file_that_holds_many_blocks_is_read_once():
    table = Table([[(r, r) for r in range(100)]])
    assert [c.rows for c in table.cut(size=10)] == [10] * 10
    assert table.read_keys == [0]


def test_rows_that_share_one_position_are_never_split():
    table = Table([[(5, 7)] * 3, [(5, 7)] * 3 + [(6, 1)]])
    assert table.cut(size=2) == [Cut(_at(5, 7), 6, takes_all=False), Cut(_at(6, 1), 1, takes_all=True)]


def test_a_table_without_rows_has_no_blocks():
    assert Table([]).cut(size=10) == []
    assert Table([[]]).cut(size=10) == []


def test_a_block_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        Table([]).cut(size=0)
