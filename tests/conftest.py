"""One real Postgres, Spark and Kafka for the whole run; every test gets a database of its own."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql.connect.session import SparkSession

from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import open_session
from tests.faults.nursery import Nursery
from tests.ingest.secured import SecuredKafka

# Servers of tests live for minutes: Java spends half of its processor time there on optimising what is soon thrown away, and a
# fourth of what a start costs on proving Spark's own classes sound. Two cores have no use for collectors that work side by side.
# Such a Java keeps little room for its code by itself, and searches it for what may go without end.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA)

# Files of these folders take minutes: begun last, one of them would be waited for alone.
_LONG = ("docs", "chaos", "orchestration", "faults", "workers", "ingest")
_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = {name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: folders.get(item.path.parent.name, len(_LONG)))


@pytest.fixture(scope="session")
def run_folder() -> Iterator[Path]:
    """A short-lived home for the servers of this run, open to the user that Postgres runs as (pytest's own folder is not)."""
    folder = Path(tempfile.mkdtemp(prefix="dwh-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_url(run_folder: Path) -> Iterator[str]:
    server = EmbeddedPostgres(run_folder)
    url = server.start()
    run_sql(url, "alter system set fsync = off")  # a killed server loses nothing by it, only a machine without power would
    run_sql(url, "select pg_reload_conf()")
    yield url
    server.stop(immediate=True)


@pytest.fixture(scope="session")
def template(postgres_url: str) -> str:
    """The name of a migrated database that each test's own is copied from."""
    run_sql(postgres_url, "create database template_dwh")
    database = Database(with_database(postgres_url, "template_dwh"))
    migrate(database)
    database.close()
    return "template_dwh"


@pytest.fixture
def database_url(postgres_url: str, template: str) -> Iterator[str]:
    """The URL of a fresh, migrated database, dropped after the test."""
    name = f"test_{next(_numbers)}"
    run_sql(postgres_url, sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))
    yield with_database(postgres_url, name)
    run_sql(postgres_url, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def module_url(postgres_url: str, template: str) -> Iterator[str]:
    """The URL of a fresh, migrated database that the tests of a module share."""
    name = f"module_{next(_numbers)}"
    run_sql(postgres_url, sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))
    yield with_database(postgres_url, name)
    run_sql(postgres_url, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def module_database(module_url: str) -> Iterator[Database]:
    database = Database(module_url, deadline=20)
    yield database
    database.close()


@pytest.fixture
def empty_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database, dropped after the test."""
    name = f"empty_{next(_numbers)}"
    run_sql(postgres_url, sql.SQL("create database {}").format(sql.Identifier(name)))
    yield with_database(postgres_url, name)
    run_sql(postgres_url, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, deadline=20)
    yield database
    database.close()


@pytest.fixture(scope="session")
def spark_server(run_folder: Path) -> Iterator[SparkServer]:
    server = SparkServer(load_settings(home=run_folder, spark_master="local[2]", spark_memory="2g"))
    server.start(timeout=240)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kafka(run_folder: Path) -> Iterator[SecuredKafka]:
    """One real broker for the run; it has a second door, with a lock."""
    server = SecuredKafka(load_settings(home=run_folder))
    server.start(timeout=240)
    yield server
    server.stop()


@pytest.fixture
def session(spark_server: SparkServer, database_url: str, tmp_path: Path) -> Iterator[SparkSession]:
    """A session on a catalog in this test's own database and on a warehouse folder of its own."""
    session = open_session(spark_server.start(), database_url, str(tmp_path / "warehouse"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where worker processes are forked from."""
    nursery = Nursery()
    yield nursery
    nursery.close()


def run_sql(url: str, statement: str | sql.Composed) -> None:
    """One statement outside of a transaction, as CREATE DATABASE wants it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode() if isinstance(statement, str) else statement)


def with_database(url: str, name: str) -> str:
    parts = conninfo_to_dict(url)
    return f"postgresql://{parts['user']}:{parts['password']}@{parts['host']}:{parts['port']}/{name}"
