"""Transactions on a real server, and what happens when it goes away."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import ControlStoreDown
from dwh_assets.model.position import MAX_ID
from tests.faults.nursery import eventually


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="dwh-home-"))
    folder.chmod(0o755)
    server = EmbeddedPostgres(folder)
    server.start()
    yield server
    server.stop(immediate=True)
    shutil.rmtree(folder)


def test_ids_are_ints_and_instants_are_utc(database: Database) -> None:
    row = database.fetch_one("select %(id)s::numeric(20) as id, 0.5::float8 as f, 1.5::numeric as d, now() as at", id=MAX_ID)
    assert row is not None
    assert (row["id"], row["f"], row["d"]) == (MAX_ID, 0.5, Decimal("1.5"))
    assert isinstance(row["id"], int)
    assert row["at"].utcoffset() == datetime.now(UTC).utcoffset()


def test_an_error_rolls_the_transaction_back(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("insert into dwh.target (name) values ('fact.sales')")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail()
    assert database.fetch("select name from dwh.target") == []


def test_many_threads_share_no_more_connections_than_the_pool_has(database: Database) -> None:
    """Each holds its connection until as many as there may be are seen to be in use."""
    pool = Database(database.url, size=3)
    together = threading.Barrier(3)

    def work(number: int) -> int:
        with pool.transaction() as connection:
            together.wait(30)
            row = connection.execute(
                "select count(*) as n from pg_stat_activity where application_name = 'dwh' and datname = current_database()"
                " and pid <> %(other)s",
                {"other": other},
            ).fetchone()
            assert row is not None
            return row["n"]

    with database.transaction() as looking, ThreadPoolExecutor(30) as threads:
        other = looking.info.backend_pid
        seen = list(threads.map(work, range(30)))
    pool.close()
    assert set(seen) == {3}


def test_leaving_a_transaction_commits_it(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("insert into dwh.target (name) values ('a.a'), ('b.b')")
    assert database.execute("update dwh.target set generation = 1") == 2
    with pytest.raises(ValueError, match="at most one row gave 2"):
        database.fetch_one("select name from dwh.target")
    assert database.fetch_one("select name from dwh.target where name = %(name)s", name="c.c") is None


def test_errors_that_are_not_about_the_connection_pass_through(database: Database) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        database.execute("set local statement_timeout = 1; select pg_sleep(5)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        database.execute("insert into dwh.target (name) values ('a.a'), ('a.a')")


def test_a_session_ended_by_the_server_is_a_control_store_that_is_down_and_the_next_works(database: Database) -> None:
    def lose() -> None:
        with database.transaction() as connection:
            database.fetch("select pg_terminate_backend(%(pid)s, 5000)", pid=connection.info.backend_pid)
            connection.execute("select 1")

    with pytest.raises(ControlStoreDown, match="inside a transaction"):
        lose()
    assert database.fetch("select 1 as x") == [{"x": 1}]


def test_a_transaction_that_was_ended_for_idling_is_a_control_store_that_is_down(database_url: str, database: Database) -> None:
    idler = Database(database_url, idle=1)

    def idle() -> None:
        with idler.transaction() as connection:
            pid = connection.info.backend_pid
            gone = "select where not exists (select from pg_stat_activity where pid = %(pid)s)"
            eventually(lambda: database.fetch(gone, pid=pid) or None, "the server ends it", 30)
            connection.execute("select 1")

    try:
        with pytest.raises(ControlStoreDown, match="inside a transaction"):
            idle()
        assert idler.fetch("select 1 as one") == [{"one": 1}]
    finally:
        idler.close()


def test_a_restart_of_postgres_is_survived_by_the_next_transaction(server: EmbeddedPostgres) -> None:
    database = Database(server.url, deadline=20)
    database.execute("create table kept as select 1 as x")

    def lose() -> None:
        with database.transaction() as connection:
            server.stop(immediate=True)
            connection.execute("select 1")

    with pytest.raises(ControlStoreDown, match="inside a transaction"):
        lose()
    server.start()
    assert database.fetch("select x from kept") == [{"x": 1}]
    database.close()


def test_a_server_that_stays_away_is_named_after_the_deadline_without_its_password(server: EmbeddedPostgres) -> None:
    database = Database(server.url, deadline=1)
    server.stop(immediate=True)
    with pytest.raises(ControlStoreDown) as down:
        database.fetch("select 1")
    database.close()
    secret = server.url.split(":")[2].split("@")[0]
    assert "127.0.0.1:" in str(down.value)
    assert "within 1 s" in str(down.value)
    assert secret not in str(down.value)
    assert secret not in repr(database)
