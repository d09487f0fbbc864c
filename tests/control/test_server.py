"""The embedded Postgres: starts once, survives a crash, listens on loopback only."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import psycopg
import pytest

from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import ConfigError


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="dwh-home-"))
    folder.chmod(0o755)
    yield folder
    EmbeddedPostgres(folder).stop(immediate=True)
    shutil.rmtree(folder)


def start(home: Path) -> str:
    return EmbeddedPostgres(home).start()


def test_two_processes_that_start_it_at_once_get_the_same_server(home: Path) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        urls = list(pool.map(start, [home, home]))
    assert urls[0] == urls[1] == EmbeddedPostgres(home).start()


def test_it_listens_on_loopback_with_a_password_and_data_checksums(home: Path) -> None:
    url = start(home)
    with psycopg.connect(url) as connection:
        settings = dict(connection.execute("select name, setting from pg_settings").fetchall())
    assert settings["listen_addresses"] == "127.0.0.1"
    assert settings["unix_socket_directories"] == ""
    assert settings["data_checksums"] == "on"
    assert settings["max_connections"] == "100"
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace("dwh:", "dwh:x"))


def test_its_password_is_readable_by_its_owner_only(home: Path) -> None:
    start(home)
    assert (home / "postgres" / "password").stat().st_mode & 0o077 == 0
    assert (home / "postgres" / "data").stat().st_mode & 0o077 == 0


def test_a_killed_server_is_found_dead_and_started_anew_with_its_data(home: Path) -> None:
    server = EmbeddedPostgres(home)
    url = server.start()
    with psycopg.connect(url) as connection:
        connection.execute("create table kept as select 1 as x")
    killed = psutil.Process(int((home / "postgres/data/postmaster.pid").read_text().split()[0]))
    killed.kill()
    killed.wait(20)  # on a busy machine it lives on for a moment, and then it is still the running server
    with psycopg.connect(server.start()) as connection:
        assert connection.execute("select x from kept").fetchone() == (1,)
    assert server.running()


def test_a_stopped_server_is_not_running_and_keeps_its_url(home: Path) -> None:
    server = EmbeddedPostgres(home)
    url = server.start()
    server.stop()
    assert not server.running()
    assert server.start() == url


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user")
def test_a_home_that_its_user_cannot_enter_is_refused_with_the_way_out(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ConfigError, match="may not enter") as refused:
        EmbeddedPostgres(closed / "home").start()
    assert "Set DWH_HOME" in str(refused.value)
    assert "chmod o+x" in str(refused.value)
