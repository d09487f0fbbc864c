"""How late rows come, and what delay, maxstep and repeat follow from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.engine.lateness import counted
from dwh_assets.model.advice import Loads, Seen, advise_delay, advise_maxstep, advise_repeat, nice
from dwh_assets.model.lateness import BOUNDS, IN_ORDER, bound_of, bucket_of, covered, covering, spread
from dwh_assets.model.module import Module, SourceTable
from dwh_assets.sources.arriving import Arrival

DAY = datetime(2026, 3, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MODULE = Module(name="fact.a", table="fact.a", depends_on=("src.a",))
SOURCE = SourceTable("src.a", "iceberg")
WEEK = timedelta(days=7)


@given(st.floats(0, 1e7))
def test_every_lateness_lies_in_the_first_bucket_whose_bound_covers_it(seconds: float):
    bucket = bucket_of(timedelta(seconds=seconds))
    bound = bound_of(bucket)
    assert bound is None or bound >= timedelta(seconds=seconds) - timedelta(microseconds=1)
    below = bound_of(bucket - 1) if bucket > 1 else None
    assert below is None or below < timedelta(seconds=seconds)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 10**9))
def test_rows_that_are_spread_over_buckets_stay_as_many(first: float, width: float, rows: int):
    found = spread(timedelta(seconds=first), timedelta(seconds=first + width), rows)
    assert sum(found.values()) == rows
    assert max(found) == bucket_of(timedelta(seconds=first + width))


def test_the_buckets_rise_and_some_delay_covers_the_share_that_is_asked_for():
    assert list(BOUNDS) == sorted(set(BOUNDS))
    counts = {IN_ORDER: 9_990, bucket_of(30 * SECOND): 9, bucket_of(3600 * SECOND): 1}
    bucket = covering(counts, 0.999)
    assert bucket == IN_ORDER
    assert bound_of(covering(counts, 0.9999) or 0) == 30 * SECOND
    assert covered(counts, 30 * SECOND) == 0.9999
    assert covering({}, 0.9) is None


def arrival(rows: int, lower: int, upper: int, committed: int) -> Arrival:
    return Arrival(rows, DAY + lower * SECOND, DAY + upper * SECOND, DAY + committed * SECOND)


def test_rows_beyond_all_that_was_visible_came_in_order_and_others_as_late_as_their_file():
    passed, counts = counted([arrival(10, 11, 20, 25), arrival(5, 5, 10, 70)], DAY + 10 * SECOND)
    assert counts == {IN_ORDER: 10, bucket_of(65 * SECOND): 5}
    assert passed == DAY + 20 * SECOND


def test_a_file_on_both_sides_of_what_was_visible_is_shared_between_them():
    _, counts = counted([arrival(100, 1, 100, 100)], DAY + 50 * SECOND)
    assert 49 <= counts[IN_ORDER] <= 51
    assert sum(counts.values()) == 100


def seen(**counts: int) -> Seen:
    return Seen({int(name[1:]): count for name, count in counts.items()}, observed=WEEK)


def test_a_delay_is_proposed_with_the_rows_that_it_covers():
    rows = {IN_ORDER: 99_000, bucket_of(40 * SECOND): 995, bucket_of(3600 * SECOND): 5}
    found = advise_delay("fact.a", MODULE, [(SOURCE, Seen(rows, observed=WEEK))], 0.9999)
    assert (found.settled, found.now, found.proposed) == ("change", "0", "40s")
    assert "40s covers 100.00% of 100,000 rows of the last 7d (now 99.00%)" in found.evidence


def test_too_few_rows_give_no_proposal_but_say_what_was_seen():
    found = advise_delay("fact.a", MODULE, [(SOURCE, seen(b0=800))], 0.9999)
    assert (found.settled, found.proposed) == ("thin", "")
    assert "0 covers 100.00% of 800 rows" in found.evidence
    assert "needs 10,000" in found.evidence
    nothing = advise_delay("fact.a", MODULE, [(SOURCE, Seen())], 0.9999)
    assert nothing.settled == "thin"
    assert "no row was seen to arrive yet" in nothing.evidence


def test_rows_that_no_delay_covers_are_named():
    found = advise_delay("fact.a", MODULE, [(SOURCE, Seen({len(BOUNDS) + 1: 100_000}, observed=WEEK))], 0.9999)
    assert found.settled == "thin"
    assert "dwh restate --late" in found.evidence


def test_a_table_that_is_built_here_needs_no_delay():
    found = advise_delay("fact.a", Module(name="m.a", table="m.a", depends_on=("fact.a",), delay=30 * SECOND), [], 0.9999)
    assert (found.settled, found.proposed) == ("change", "0")


def test_late_rows_of_postgres_are_held_against_those_that_came_in_time():
    source = SourceTable("src.a", "postgres", horizon="delay", delay=SECOND)
    late = Seen({bucket_of(90 * SECOND): 500}, {bucket_of(2 * SECOND): 100}, loaded=100_000, observed=WEEK)
    found = advise_delay("fact.a", MODULE, [(source, late)], 0.9999)
    assert found.proposed == "1min30s"
    assert "500 late rows found beside 100,000" in found.evidence
    assert "at most 2s old at 99% of 100 looks" in found.evidence
    exact = advise_delay("fact.a", MODULE, [(SourceTable("src.a", "postgres"), Seen(loaded=10, observed=WEEK))], 0.9999)
    assert exact.settled == "keep"
    assert "oldest open transaction" in exact.evidence


def test_maxstep_follows_the_speed_of_the_topic():
    slow = Loads(blocks=50, full_blocks=10, seconds=100.0, rows_95=1e6, rows_per_second=5_000)
    assert advise_maxstep("fact.a", MODULE, slow, 60).proposed == "200_000"
    fast = Loads(blocks=50, full_blocks=10, seconds=1.0, rows_95=1e6, rows_per_second=10_000_000)
    assert advise_maxstep("fact.a", MODULE, fast, 60).proposed == "20_000_000"
    fits = Loads(blocks=50, seconds=1.0, rows_95=300, rows_per_second=100_000)
    kept = advise_maxstep("fact.a", MODULE, fits, 60)
    assert kept.settled == "keep"
    assert "no block was full, 95% held at most 300 rows" in kept.evidence
    assert advise_maxstep("fact.a", MODULE, Loads(blocks=3), 60).settled == "thin"


def test_repeat_leaves_time_between_blocks_and_keeps_the_promise():
    often = Module(name="a.a", table="a.a", depends_on=("src.a",), repeat=SECOND)
    busy = advise_repeat("a.a", often, Loads(blocks=100, seconds=3.0))
    assert (busy.settled, busy.proposed) == ("change", "15s")
    assert "75% of the time" in busy.evidence
    promised = Module(name="a.a", table="a.a", depends_on=("src.a",), promise=timedelta(minutes=10))
    assert advise_repeat("a.a", promised, Loads(blocks=100, seconds=1.0)).proposed == "5min"
    assert advise_repeat("a.a", MODULE, Loads(blocks=100, seconds=1.0)).settled == "keep"


@given(st.floats(1, 1e12))
def test_a_nice_number_is_not_above_and_not_far_below(value: float):
    assert nice(value) <= value < 2.5 * nice(value) + 1
