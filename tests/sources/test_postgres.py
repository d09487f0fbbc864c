from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import BadPosition, SourceDown, SourceError
from dwh_assets.model.position import EARLIEST, Bounds
from dwh_assets.sources.postgres import PostgresSource
from dwh_assets.sources.postgres import source as source_module
from tests.sources.source_suite import START, Row, SourceSuite, at, rows, upto

TABLE = "create table shop.orders (pos timestamptz default now(), id numeric(20), shard text, note text)"


class PostgresWorld:
    def __init__(self, url: str) -> None:
        self.url = url
        self.run("create schema shop")
        self.run(TABLE)
        self.run("create index on shop.orders (pos, id)")

    def run(self, statement: str, *params: Any) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode(), params or None)

    def add(self, rows: Sequence[Row]) -> None:
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            values = [(None if s is None else START + timedelta(seconds=s), id_, shard) for s, id_, shard in rows]
            cursor.executemany("insert into shop.orders values (%s, %s, %s, 'x')", values)

    def source(self, position: tuple[str, str] = ("pos", "id"), shard_by: str | None = "shard", **options: Any) -> PostgresSource:
        return PostgresSource("crm.orders", self.url, "shop.orders", position, shard_by=shard_by, **options)


@pytest.fixture
def world(empty_url: str) -> PostgresWorld:
    return PostgresWorld(empty_url)


@pytest.fixture(scope="module")
def two_phase_url(tmp_path_factory: pytest.TempPathFactory, run_folder) -> Iterator[str]:
    """A server that allows prepared transactions, which Postgres does not by default."""
    server = EmbeddedPostgres(run_folder / "two_phase")
    with psycopg.connect(server.start(), autocommit=True) as connection:
        connection.execute("alter system set max_prepared_transactions = 5")
    server.stop(immediate=True)
    yield server.start()
    server.stop(immediate=True)


def watermark_of(source: PostgresSource) -> datetime:
    watermark = source.observe(datetime.now(UTC) + timedelta(seconds=1)).watermark
    assert watermark is not None
    return watermark


class TestPostgresSource(SourceSuite):
    pass


def test_a_row_that_commits_late_is_neither_passed_over_nor_lost(world):
    source = world.source()
    with psycopg.connect(world.url) as slow:
        (began,) = slow.execute("insert into shop.orders (id) values (1) returning pos").fetchone()  # type: ignore[misc]
        world.run("insert into shop.orders (id) values (2)")
        held = source.observe(datetime.now(UTC))
        assert began - timedelta(seconds=1) < held.watermark < began < held.newest
        assert source.cut(EARLIEST, held.watermark, 10, 1) == []
    free = source.observe(datetime.now(UTC) + timedelta(seconds=1))
    cuts = source.cut(EARLIEST, max(free.watermark, held.newest), 10, 1)
    assert [cut.rows for cut in cuts] == [2]


@pytest.mark.tooth("R7", "horizon")
def test_without_the_horizon_a_row_that_commits_late_is_passed_over(world, monkeypatch):
    monkeypatch.setenv("DWH_UNPROTECTED", "horizon")
    source = world.source()
    with psycopg.connect(world.url) as slow:
        slow.execute("insert into shop.orders (id) values (1)")
        world.run("insert into shop.orders (id) values (2)")
        observed = source.observe(datetime.now(UTC) + timedelta(seconds=1))
        (cut,) = source.cut(EARLIEST, max(observed.watermark, observed.newest), 10, 1)
        assert cut.rows == 1
    later = source.observe(datetime.now(UTC) + timedelta(seconds=1))
    assert source.cut(cut.next, later.watermark, 10, 1) == []  # the late one lies below the cursor for ever


def test_a_transaction_that_has_only_begun_holds_the_watermark(world):
    with psycopg.connect(world.url) as idle:
        (began,) = idle.execute("select now()").fetchone()  # type: ignore[misc]
        assert world.source().observe(datetime.now(UTC)).watermark < began


def test_own_readers_do_not_hold_the_watermark(world):
    with psycopg.connect(world.url, application_name="dwh_assets source") as reader:
        (began,) = reader.execute("select now() - interval '1 s'").fetchone()  # type: ignore[misc]
        assert world.source().observe(datetime.now(UTC)).watermark > began


def test_without_transactions_the_watermark_follows_the_clock_and_never_passes_it(world):
    now = datetime.now(UTC)
    observed = world.source().observe(now + timedelta(hours=1))
    assert now - timedelta(seconds=1) < observed.watermark < datetime.now(UTC)
    assert world.source().observe(now - timedelta(hours=1)).watermark == now - timedelta(hours=1)


def test_a_delay_bounds_the_watermark_where_the_application_sets_pos(world):
    now = datetime.now(UTC)
    observed = world.source(horizon="delay", delay=timedelta(minutes=5)).observe(now)
    assert now - timedelta(minutes=5, seconds=2) < observed.watermark <= datetime.now(UTC) - timedelta(minutes=5)


def test_a_delay_of_nothing_is_refused(world):
    with pytest.raises(SourceError, match="needs a `delay`"):
        world.source(horizon="delay")


def test_a_prepared_transaction_holds_the_watermark_where_it_was(two_phase_url):
    world = PostgresWorld(two_phase_url)
    source = world.source()
    before = watermark_of(source)
    with psycopg.connect(world.url) as slow:
        slow.tpc_begin(slow.xid(1, "gtrid", "bqual"))
        (began,) = slow.execute("insert into shop.orders (id) values (1) returning pos").fetchone()  # type: ignore[misc]
        slow.tpc_prepare()
        held = watermark_of(source)
        assert before <= held < began
        assert watermark_of(source) == held
        assert world.source().observe(datetime.now(UTC)).watermark is None, "who saw nothing before knows nothing"
        slow.tpc_commit()
    assert watermark_of(source) > held


def test_hidden_sessions_are_refused_until_the_role_may_see_them(world):
    world.run("drop role if exists reader")
    world.run("create role reader login password 'canary-7'")
    world.run("grant usage on schema shop to reader")
    world.run("grant select on shop.orders to reader")
    url = make_conninfo(world.url, user="reader", password="canary-7")
    source = PostgresSource("crm.orders", url, "shop.orders")
    with psycopg.connect(world.url) as other:
        other.execute("select 1")
        with pytest.raises(SourceError, match="GRANT pg_read_all_stats TO reader"):
            source.observe(datetime.now(UTC))
        world.run("grant pg_read_all_stats to reader")
        assert source.observe(datetime.now(UTC)).watermark is not None
    world.run("revoke all on schema shop from reader")
    with pytest.raises(SourceError, match="permission denied") as refused:
        source.observe(datetime.now(UTC))
    assert "canary" not in str(refused.value) + repr(source)


def test_a_source_database_that_is_down_is_transient_and_keeps_its_password(unused_port):
    source = PostgresSource("crm.orders", f"postgresql://u:canary@127.0.0.1:{unused_port}/x", "shop.orders")
    with pytest.raises(SourceDown, match="asked again") as down:
        source.observe(datetime.now(UTC))
    assert "canary" not in str(down.value)


def test_a_malformed_url_is_refused_without_quoting_it():
    with pytest.raises(SourceError, match="not a Postgres URL") as refused:
        PostgresSource("crm.orders", "postgresql//u:canary@h/x", "shop.orders")
    assert "canary" not in str(refused.value)


def test_a_relation_that_is_missing_is_named_with_similar_ones(world):
    source = PostgresSource("crm.orders", world.url, "shop.order")
    with pytest.raises(SourceError, match=r"(?s)no relation shop\.order .*shop\.orders"):
        source.observe(datetime.now(UTC))


def test_a_pos_without_a_time_zone_is_refused_with_a_way_out(world):
    world.run("alter table shop.orders alter pos type timestamp")
    with pytest.raises(BadPosition, match="at time zone"):
        world.source().observe(datetime.now(UTC))


def test_a_negative_id_is_refused(world):
    world.add([(1, 1, "a"), (2, -1, "a")])
    with pytest.raises(BadPosition, match=r"1 rows .* unsigned 64-bit"):
        world.source().cut(EARLIEST, upto(9), 10, 1)


def test_bigint_ids_are_compared_in_their_own_type(world):
    world.run("alter table shop.orders alter id type bigint")
    world.add([(1, 2**63 - 1, "a"), (1, 5, "a"), (2, 1, "a")])
    source = world.source()
    assert [cut.next.id for cut in source.cut(EARLIEST, upto(9), 1, 9)] == [5, 2**63 - 1, 1]
    assert source.fingerprint(Bounds(at(1, 5), at(1, 2**64 - 1)), None).rows == 1


def test_the_index_on_the_position_is_noticed(world):
    assert world.source().has_index()
    assert not world.source(position=("pos", "shard")).has_index()
    world.run("drop index shop.orders_pos_id_idx")
    assert not world.source().has_index()


def test_cutting_with_an_index_does_not_sort_the_table(world):
    world.add(rows(range(2000)))
    world.run("analyze shop.orders")
    with psycopg.connect(world.url) as connection:
        plan = connection.execute(
            "explain select pos, id from shop.orders where (pos, id) > (%s, 5::numeric) and pos <= %s"
            " order by pos asc, id asc offset 10 limit 1",
            (upto(10), upto(1900)),
        ).fetchall()
    assert "Index" in str(plan)
    assert "Sort" not in str(plan)


def test_a_large_block_is_read_by_several_connections(world, session, monkeypatch):
    monkeypatch.setattr(source_module, "ROWS_A_READER", 10)
    world.add([*rows(range(50)), (20, 20, "a")])
    frame = world.source().read(session, Bounds(at(4, 4), at(44, 44)), None)
    assert frame.count() == 41
    assert frame.select("id").distinct().count() == 40
