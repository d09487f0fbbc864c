from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model.position import EARLIEST, Bounds, Position
from dwh_assets.sources.rows import NO_ROWS, Rows, appeared, instant, micros, together
from dwh_assets.sources.source import NOTHING, Fingerprint

pairs = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 2**64 - 1)), max_size=30)


def rows_of(pairs: list[tuple[int, int]]) -> Rows:
    return Rows(np.array([p for p, _ in pairs], np.int64), np.array([i for _, i in pairs], np.uint64))


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_survives_as_microseconds(at):
    assert instant(micros(at)) == at


@given(pairs, pairs)
def test_the_fingerprint_of_disjoint_parts_adds_up(a, b):
    assert rows_of(a).fingerprint() + rows_of(b).fingerprint() == rows_of(a + b).fingerprint()
    assert rows_of(b + a).fingerprint() == rows_of(a + b).fingerprint()


@given(pairs, pairs)
def test_rows_that_appeared_are_counted_one_by_one(before, more):
    assert appeared(rows_of(before + more), rows_of(before)) == len(more)
    assert appeared(rows_of(before), rows_of(before + more)) == 0


@given(pairs, st.tuples(st.integers(-5, 4), st.integers(0, 2**64 - 1)))
def test_a_range_holds_the_pairs_that_compare_inside_it(some, end):
    bounds = Bounds(EARLIEST, Position(instant(end[0]), end[1]))
    inside = rows_of(some).within(bounds)
    assert sorted(zip(inside.pos.tolist(), inside.id.tolist(), strict=True)) == sorted(p for p in some if p <= end)


def test_exchanging_the_ids_of_two_rows_changes_the_fingerprint():
    assert rows_of([(1, 10), (2, 20)]).fingerprint() != rows_of([(1, 20), (2, 10)]).fingerprint()


def test_the_hash_is_the_same_for_ever():
    assert rows_of([(1_700_000_000_000_000, 2**64 - 1), (0, 0)]).fingerprint() == Fingerprint(2, 17799743014617349535)


def test_nothing_has_the_fingerprint_of_nothing():
    assert NO_ROWS.fingerprint() == NOTHING == together([]).fingerprint()


def test_a_swapped_row_counts_as_one_that_appeared():
    assert Fingerprint(5, 1).appeared_since(Fingerprint(5, 2)) == 1
    assert Fingerprint(7, 1).appeared_since(Fingerprint(5, 2)) == 2
    assert Fingerprint(4, 1).appeared_since(Fingerprint(5, 2)) == 0


def test_a_hash_sum_that_the_ledger_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="64-bit"):
        Fingerprint(1, 2**64)


def test_hashing_is_not_what_a_block_waits_for():
    million = Rows(np.arange(10**6, dtype=np.int64), np.arange(10**6, dtype=np.uint64))
    started = time.perf_counter()
    million.fingerprint()
    assert time.perf_counter() - started < 0.5  # 0.01 s on a quiet machine


def test_the_first_instant_of_the_calendar_has_exact_microseconds():
    assert micros(datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=1)) == micros(EARLIEST.pos) + 1
