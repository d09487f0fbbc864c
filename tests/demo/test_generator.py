from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwh_assets.demo.generator import Generator
from dwh_assets.demo.shop import Row
from dwh_assets.demo.streams import LATENESS, STREAMS, Stream, stream

START = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
PAST = timedelta(hours=1)
END = START + PAST + timedelta(minutes=3)


def small(seed: int = 1) -> Generator:
    return Generator(seed, START, scale=0.1, past=PAST)


def positions(rows: list[Row]) -> list[tuple[datetime, int]]:
    return [(row[0], row[1]) for row in rows]  # type: ignore[misc]


def test_the_same_seed_and_start_give_the_same_rows():
    assert small().between(None, END) == small().between(None, END)


def test_another_seed_gives_other_rows():
    assert small(1).between(None, END) != small(2).between(None, END)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, int((END - START).total_seconds() * 1000)), max_size=6))
def test_feeding_in_many_intervals_gives_the_rows_of_one(cuts: list[int]):
    generator = small()
    edges = [None, *(START + timedelta(milliseconds=cut) for cut in sorted(cuts)), END]
    for each in STREAMS:
        parts = [generator.rows(each, after, upto) for after, upto in pairwise(edges) if upto is not None]
        assert Counter(row for part in parts for row in part) == Counter(generator.rows(each, None, END))


def test_a_first_start_has_two_days_of_about_sixty_thousand_rows_and_then_fifty_a_second():
    generator = Generator(7, START)
    past = generator.between(None, generator.opening)
    live = generator.between(generator.opening, generator.opening + timedelta(minutes=1))
    assert 50_000 < sum(map(len, past.values())) < 75_000
    assert 40 * 60 < sum(map(len, live.values())) < 60 * 60


@pytest.mark.parametrize("each", STREAMS, ids=lambda s: s.name)
def test_a_row_is_never_later_than_its_source_declares(each: Stream):
    """Whatever arrives after a moment lies above the newest row seen by then, less the lateness."""
    generator = small()
    newest = START
    for second in range(int((END - START).total_seconds())):
        upto = START + timedelta(seconds=second + 1)
        found = positions(generator.rows(each, upto - timedelta(seconds=1), upto))
        assert all(pos <= upto for pos, _ in found)
        assert all(pos > newest - LATENESS - timedelta(seconds=1) for pos, _ in found)
        newest = max([newest, *(pos for pos, _ in found)])


def test_tills_give_many_rows_of_equal_pos_and_web_orders_arrive_out_of_order():
    generator = Generator(7, START, past=timedelta(0))
    upto = START + timedelta(minutes=1)
    tills = positions(generator.rows(stream("stage.till_receipts"), None, upto))
    web = positions(generator.rows(stream("stage.web_orders"), None, upto))
    assert len({pos for pos, _ in tills}) < len(tills)
    assert len(set(tills)) == len(tills)
    assert web != sorted(web)


def test_the_rows_of_a_refund_file_share_one_position_and_exactly_one_file_is_bad():
    generator = Generator(7, START)
    rows = generator.rows(stream("stage.refunds"), None, generator.opening + timedelta(minutes=5))
    bad = [row for row in rows if row[3] is None]
    assert len(bad) > 1
    assert len(set(positions(bad))) == 1


def test_a_wave_of_bots_leaves_more_page_views_without_a_customer():
    generator = Generator(7, START)
    rows = generator.rows(stream("stage.clicks"), None, generator.opening)
    worst = max(sum(row[3] is None for row in rows[i : i + 500]) / 500 for i in range(0, len(rows) - 500, 100))
    assert worst > 0.5
    assert sum(row[3] is None for row in rows[:1000]) / 1000 < 0.3


def test_a_sale_never_comes_before_its_customer():
    generator = small()
    joined = {row[2]: row[0] for row in generator.rows(stream("crm.customer_changes"), None, END) if row[6] == "joined"}
    for order in generator.rows(stream("stage.web_orders"), None, END):
        assert joined[order[3]] <= order[0]  # type: ignore[operator]


def test_the_moves_of_a_product_add_up_to_its_stock():
    stock: Counter[tuple[object, object]] = Counter()
    for row in sorted(small().rows(stream("stage.inventory_moves"), None, END), key=lambda row: (row[0], row[1])):  # type: ignore[arg-type]
        stock[row[2], row[3]] += row[4]  # type: ignore[operator]
        assert stock[row[2], row[3]] == row[5]
