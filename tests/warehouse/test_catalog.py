"""The catalog tells an unknown table, a store that is away and damaged metadata apart."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from dwh_assets.control.database import Database
from dwh_assets.model.errors import ConfigError, ControlStoreDown, DamagedData
from dwh_assets.warehouse.branches import fork, live
from dwh_assets.warehouse.catalog import Catalog


def test_an_unknown_table_is_named(catalog: Catalog) -> None:
    assert not catalog.exists("fact.nothing")
    with pytest.raises(ConfigError, match=r"fact\.nothing is not in the catalog dwh"):
        catalog.load("fact.nothing")


def test_tables_are_listed_and_dropped(catalog: Catalog, sales: str) -> None:
    assert catalog.names() == [sales]
    catalog.drop(sales)
    assert catalog.names() == []


def test_a_table_has_the_type_that_the_java_catalog_looks_for(database: Database, sales: str) -> None:
    row = database.fetch_one("select catalog_name, iceberg_type from iceberg.iceberg_tables")
    assert row == {"catalog_name": "dwh", "iceberg_type": "TABLE"}


def test_a_store_that_is_away_is_transient_and_its_password_stays_secret(database_url: str, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = make_url(database_url).set(port=unused.getsockname()[1], password="canary")
        catalog = Catalog(away.render_as_string(hide_password=False), str(tmp_path))
        with pytest.raises(ControlStoreDown) as raised:
            catalog.load("fact.sales")
    assert "canary" not in str(raised.value)


def test_a_catalog_outlives_the_loss_of_its_connections(catalog: Catalog, sales: str, database: Database) -> None:
    catalog.load(sales)
    database.fetch(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    )
    assert catalog.exists(sales)


def test_missing_metadata_is_named_as_damage(catalog: Catalog, sales: str) -> None:
    location = catalog.load(sales).metadata_location
    Path(location).unlink()
    with pytest.raises(DamagedData, match=Path(location).name):
        catalog.load(sales)


def test_threads_that_fork_one_table_at_once_all_get_their_branch(catalog: Catalog, sales: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        forks = list(pool.map(lambda execution: fork(catalog, sales, execution), range(12)))
    assert sorted(fork.branch for fork in forks) == live(catalog, sales)


def test_of_each_table_only_the_newest_metadata_stay_in_memory(catalog: Catalog, sales: str) -> None:
    for execution in range(5):
        fork(catalog, sales, execution)
    location = catalog.load(sales).metadata_location
    assert catalog.sql.recent.weight == Path(location).stat().st_size
