"""Positions compare as pairs, and ranges are open below and closed above."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dwh_assets.model.position import EARLIEST, MAX_ID, MICROSECOND, Bounds, Position, watermark_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_positions_compare_by_instant_and_then_by_id() -> None:
    assert EARLIEST < Position(NOON, 9) < Position(NOON, 10) < Position(NOON + MICROSECOND, 0)


def test_the_same_instant_in_two_zones_is_the_same_position() -> None:
    assert Position(NOON, 1) == Position(NOON.astimezone(timezone(timedelta(hours=5))), 1)


@pytest.mark.parametrize(("pos", "row"), [(NOON.replace(tzinfo=None), 1), (NOON, -1), (NOON, MAX_ID + 1)])
def test_a_position_needs_a_zone_and_an_unsigned_64_bit_id(pos: datetime, row: int) -> None:
    with pytest.raises(ValueError, match=r"zone|unsigned"):
        Position(pos, row)


def test_a_block_holds_its_upper_bound_and_not_its_lower_one() -> None:
    bounds = Bounds(Position(NOON, 1), Position(NOON, 5))
    assert [Position(NOON, i) in bounds for i in (1, 2, 5, 6)] == [False, True, True, False]


def test_a_block_must_move_forward() -> None:
    with pytest.raises(ValueError, match="forward"):
        Bounds(Position(NOON, 1), Position(NOON, 1))


def test_the_watermark_stays_below_a_pos_that_the_block_may_have_cut_in_two() -> None:
    assert watermark_of(Position(NOON, 7), NOON + timedelta(hours=1), takes_all=False) == NOON - MICROSECOND
    assert watermark_of(Position(NOON, 7), NOON + timedelta(hours=1), takes_all=True) == NOON + timedelta(hours=1)
