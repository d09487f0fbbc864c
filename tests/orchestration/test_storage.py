"""Dagster's storage in the control store holds few connections and opens few."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from dwh_assets.control.database import Database
from dwh_assets.orchestration.storage import ControlStoreStorage

OTHERS = """select pid, backend_start from pg_stat_activity
    where datname = current_database() and application_name = '' and pid <> %s"""


@pytest.fixture
def make(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DWH_POSTGRES_URL", database_url)
    return lambda: ControlStoreStorage.from_config_value(None, {"home": str(tmp_path)})


def connections(url: str) -> set[tuple[int, object]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(OTHERS, [connection.info.backend_pid]).fetchall())


def test_storages_of_a_process_share_connections_instead_of_opening_one_for_each_query(make, database_url: str):
    first = make()
    first.run_storage.get_runs()
    held = connections(database_url)
    for _ in range(5):
        storage = make()
        storage.run_storage.get_runs()
        storage.schedule_storage.all_instigator_state()
    assert held
    assert connections(database_url) == held


def test_a_connection_that_postgres_has_ended_is_noticed_before_it_is_used(make, database: Database):
    storage = make()
    storage.run_storage.get_runs()
    for pid, _ in connections(database.url):
        database.execute("select pg_terminate_backend(%(pid)s)", pid=pid)
    assert storage.run_storage.get_runs() == []
