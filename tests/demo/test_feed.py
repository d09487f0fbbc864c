from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from dwh_assets.demo import lake
from dwh_assets.demo.feed import HICCUP, Feed
from dwh_assets.demo.oltp import Oltp
from dwh_assets.demo.streams import LATENESS, STREAMS, Stream, stream
from dwh_assets.model.errors import AlreadyRunning, ControlStoreDown, SourceError
from dwh_assets.warehouse.catalog import Catalog

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
PAST = timedelta(hours=1)


class Crash(Exception):
    pass


@pytest.fixture
def catalog(database_url: str, tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(database_url, str(tmp_path))
    yield catalog
    catalog.close()


def feed_of(catalog: Catalog, url: str, seed: int = 3) -> Feed:
    return Feed(catalog, url, seed=seed, scale=0.1, past=PAST)


@pytest.fixture
def feed(catalog: Catalog, database_url: str) -> Feed:
    feed = feed_of(catalog, database_url)
    feed.prepare(NOW)
    return feed


def stored(catalog: Catalog, url: str, each: Stream) -> Counter:
    if each.place == "iceberg":
        columns = catalog.load(each.name).scan().to_arrow().to_pydict()
        return Counter(zip(*columns.values(), strict=True))
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        return Counter(connection.execute(SQL("select * from {}").format(Identifier(*each.name.split(".")))).fetchall())


def assert_fed_exactly_once(feed: Feed, catalog: Catalog, url: str, upto: datetime) -> None:
    for each in STREAMS:
        assert stored(catalog, url, each) == Counter(feed.generator.rows(each, None, upto)), each.name


def test_the_backlog_is_written_once(feed: Feed, catalog: Catalog, database_url: str):
    assert feed.backlog() > 0
    assert feed.backlog() == 0
    assert_fed_exactly_once(feed, catalog, database_url, feed.generator.opening)


def test_a_later_start_goes_on_with_the_first_seed_and_beginning(feed: Feed, catalog: Catalog, database_url: str):
    feed.backlog()
    again = feed_of(catalog, database_url, seed=99)
    again.prepare(NOW + timedelta(days=5))
    assert again.generator.clock == feed.generator.clock
    assert again.backlog() == 0


@pytest.mark.parametrize("survivors", [0, 1, 3, len(STREAMS)])
def test_a_crash_between_two_tables_neither_loses_nor_doubles_a_row(
    feed: Feed, catalog: Catalog, database_url: str, survivors: int
):
    for each in STREAMS[:survivors]:
        feed._write(each, feed.generator.opening)
    again = feed_of(catalog, database_url)
    again.prepare()
    again.backlog()
    for second in range(4, 64, 4):
        again.feed_once(feed.generator.opening + timedelta(seconds=second))
    assert_fed_exactly_once(again, catalog, database_url, feed.generator.opening + timedelta(seconds=60))


def test_a_crash_inside_the_transaction_leaves_no_row_and_no_mark(feed: Feed, database_url: str, catalog: Catalog):
    payments = stream("crm.payments")

    def rows_then_crash(fed: datetime | None) -> list:
        rows = feed.generator.rows(payments, fed, feed.generator.opening)
        return [*rows[:100], (None,)]  # the copy fails after a hundred rows

    with pytest.raises(psycopg.Error):
        Oltp(database_url).write(payments, feed.generator.opening, rows_then_crash)
    assert not stored(catalog, database_url, payments)
    assert Oltp(database_url).fed_upto(payments.name) is None


def test_a_round_without_rows_makes_no_snapshot(feed: Feed, catalog: Catalog):
    feed.backlog()
    before = len(catalog.load("stage.clicks").metadata.snapshots)
    for second in (1, 2, 3):
        feed.feed_once(feed.generator.opening + timedelta(seconds=second))
    assert len(catalog.load("stage.clicks").metadata.snapshots) == before


def test_after_a_pause_the_shops_rows_are_new_and_every_customer_is_known(feed: Feed, catalog: Catalog, database_url: str):
    feed.backlog()
    opening = feed.generator.opening
    customers, payments = stream("crm.customer_changes"), stream("crm.payments")
    known = stored(catalog, database_url, customers)
    paid = stored(catalog, database_url, payments)
    later = opening + timedelta(hours=2)
    feed.feed_once(later)
    fresh = list((stored(catalog, database_url, customers) - known) + (stored(catalog, database_url, payments) - paid))
    assert min(row[0] for row in fresh) >= later - HICCUP - LATENESS
    numbers = {row[2] for row in stored(catalog, database_url, customers)}
    orders = feed.generator.rows(stream("stage.web_orders"), later, later + timedelta(minutes=1))
    assert {order[3] for order in orders} <= numbers


def test_a_pause_of_months_is_made_up_for_in_one_short_round(feed: Feed):
    feed.backlog()
    assert 0 < feed.feed_once(feed.generator.opening + timedelta(days=200)) < 2_000


def test_a_table_whose_marks_are_gone_is_not_fed_twice(feed: Feed, catalog: Catalog):
    clicks = catalog.load("stage.clicks")
    clicks.append(clicks.scan().to_arrow())
    with pytest.raises(SourceError, match="how far it was fed"):
        feed.backlog()


def test_a_second_feeder_is_refused(feed: Feed, database_url: str):
    with Oltp(database_url).sole_feeder(), pytest.raises(AlreadyRunning, match="another process"):
        feed.backlog()


def test_the_feed_runs_until_it_is_told_to_stop(catalog: Catalog, database_url: str):
    feed = feed_of(catalog, database_url)
    feed.prepare()
    feed.backlog()
    stop = threading.Event()
    runner = threading.Thread(target=feed.run, args=(stop, 0.05))
    runner.start()
    stop.set()
    runner.join(20)
    assert not runner.is_alive()


def test_a_database_that_is_away_is_named(catalog: Catalog):
    with pytest.raises(ControlStoreDown, match="did not answer"):
        Oltp("postgresql://127.0.0.1:1/none").fed_upto("crm.payments")


def test_old_snapshots_are_forgotten_and_the_feed_goes_on(
    feed: Feed, catalog: Catalog, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lake, "SNAPSHOTS", 4)
    feed.backlog()
    for minute in range(1, 10):
        feed.feed_once(feed.generator.opening + timedelta(minutes=minute))
    assert len(catalog.load("stage.clicks").metadata.snapshots) <= 4
    for each in (each for each in STREAMS if each.place == "iceberg"):
        rows = feed.generator.rows(each, None, feed.generator.opening + timedelta(minutes=9))
        assert stored(catalog, database_url, each) == Counter(rows), each.name
