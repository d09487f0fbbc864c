"""A page of a control table that the disk has spoiled: it is told from a crash, and a backup puts the store back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.control.backups import back_up, read_backup, restore
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import DamagedData


@pytest.fixture
def server(run_folder: Path) -> Iterator[EmbeddedPostgres]:
    home = run_folder / "torn"
    home.mkdir()
    server = EmbeddedPostgres(home)
    server.start()
    yield server
    server.stop(immediate=True)


def opened(server: EmbeddedPostgres) -> Database:
    return Database(server.start(), deadline=20, size=1)


def test_a_torn_page_is_named_with_what_to_type_and_a_backup_heals_it(server: EmbeddedPostgres, run_folder: Path) -> None:
    store = opened(server)
    migrate(store)
    store.execute("insert into dwh.source (name, kind, spec) values ('a.b', 'iceberg', '{}')")
    back_up(store, run_folder / "torn" / "kept")
    (place,) = store.fetch("select pg_relation_filepath('dwh.source') as file, current_setting('data_checksums') as checksums")
    assert place["checksums"] == "on"
    store.close()
    server.stop()
    file = run_folder / "torn" / "postgres" / "data" / place["file"]
    page = bytearray(file.read_bytes())
    page[-7] ^= 0x10  # in a row, where nothing but the checksum tells
    file.write_bytes(page)
    store = opened(server)
    with pytest.raises(DamagedData) as raised:
        store.fetch("select name from dwh.source")
    assert "invalid page in block 0" in str(raised.value)
    assert "dwh restore BACKUP" in str(raised.value)
    restore(store, run_folder / "torn" / "kept", read_backup(run_folder / "torn" / "kept"), "tester", "a torn page")
    assert store.fetch("select name from dwh.source") == [{"name": "a.b"}]
    store.close()
