"""A backup is one moment of the control store, and is put back as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from dwh_assets.control.backups import DUMP, MANIFEST, back_up, read_backup, restore
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import Schema, migrate, pending_migrations
from dwh_assets.control.roles import ROLES, apply_roles, roles_applied
from dwh_assets.control.statements import migrations
from dwh_assets.model.errors import ConfigError, ControlStoreDown, DamagedData, NotPermitted, Refused
from tests.conftest import run_sql

SOURCES = "select name, watermark from dwh.source order by name"


@pytest.fixture
def store(database_url: str) -> Iterator[Database]:
    """One connection, as the command has: every other one belongs to somebody else."""
    database = Database(database_url, deadline=20, size=1)
    add_source(database, "a")
    database.execute("create schema shop")  # a source in the same database
    database.execute("create table shop.orders as select 1 as id")
    yield database
    database.close()


def add_source(database: Database, name: str) -> None:
    database.execute("insert into dwh.source (name, kind, spec) values (%(name)s, 'iceberg', '{}')", name=name)


def events(database: Database) -> list[str]:
    return [row["code"] for row in database.fetch("select code from dwh.event_log order by id")]


def test_a_restored_store_is_what_it_was_at_the_backup_and_says_that_it_was_restored(store: Database, tmp_path: Path) -> None:
    before = store.fetch(SOURCES)
    manifest = back_up(store, tmp_path / "kept")
    assert (manifest.migrations[-1], manifest.blocks) == (migrations()[-1].stem, 0)
    add_source(store, "b")
    store.execute("create table dwh.of_a_later_version (x int)")
    restore(store, tmp_path / "kept", read_backup(tmp_path / "kept"), "tester", "it's a test")
    assert store.fetch(SOURCES) == before
    assert events(store) == ["RESTORED"]
    assert store.fetch("select to_regclass('dwh.of_a_later_version') as found") == [{"found": None}]
    assert store.fetch("select id from shop.orders") == [{"id": 1}]  # what is not ours is not touched
    assert pending_migrations(store) == migrate(store) == []
    with pytest.raises(NotPermitted):
        store.execute("delete from dwh.event_log")  # what guards the log is back, too


def test_an_empty_database_becomes_the_warehouse_of_the_backup(store: Database, empty_url: str, tmp_path: Path) -> None:
    back_up(store, tmp_path / "kept")
    other = Database(empty_url, deadline=20, size=1)
    restore(other, tmp_path / "kept", read_backup(tmp_path / "kept"), "tester", "moved")
    assert other.fetch(SOURCES) == store.fetch(SOURCES)
    other.close()


@contextmanager
def without_roles(url: str) -> Iterator[None]:
    """The server as one that has never seen these roles."""
    names = ["dwh_owner", *ROLES.values()]
    for name in names:
        run_sql(url, f"alter role {name} rename to old_{name}")
    yield
    for name in names:
        run_sql(url, f"alter role old_{name} rename to {name}")


def test_a_store_with_roles_is_restored_on_a_server_without_them(store: Database, empty_url: str, tmp_path: Path) -> None:
    apply_roles(store, {})
    back_up(store, tmp_path / "kept")
    other = Database(empty_url, deadline=20, size=1)
    with without_roles(empty_url):
        restore(other, tmp_path / "kept", read_backup(tmp_path / "kept"), "tester", "moved")
    assert other.fetch(SOURCES) == store.fetch(SOURCES)
    other.close()


def test_roles_have_their_rights_again_in_a_restored_store(store: Database, tmp_path: Path) -> None:
    apply_roles(store, {})
    back_up(store, tmp_path / "kept")
    restore(store, tmp_path / "kept", read_backup(tmp_path / "kept"), "tester", "a test")
    with store.transaction() as connection:
        assert roles_applied(connection)
        connection.execute("set local role dwh_viewer")
        connection.execute("select * from dwh.status")


def test_a_restore_that_fails_in_the_middle_changes_nothing(store: Database, tmp_path: Path) -> None:
    back_up(store, tmp_path / "kept")
    manifest = read_backup(tmp_path / "kept")
    add_source(store, "b")
    store.execute("create view shop.of_a_stranger as select name from dwh.source")
    store.execute("create function shop.refuse() returns event_trigger language plpgsql as $$ begin raise 'no'; end $$")
    store.execute("create event trigger no_more on ddl_command_end when tag in ('CREATE VIEW') execute function shop.refuse()")
    with pytest.raises(ControlStoreDown, match="nothing was changed"):
        restore(store, tmp_path / "kept", manifest, "tester", "a test")
    store.execute("drop event trigger no_more")
    assert [row["name"] for row in store.fetch(SOURCES)] == ["a", "b"]
    assert store.fetch("select name from shop.of_a_stranger where name = 'b'")


def test_a_running_warehouse_is_not_restored(store: Database, database_url: str, tmp_path: Path) -> None:
    back_up(store, tmp_path / "kept")
    manifest = read_backup(tmp_path / "kept")
    with psycopg.connect(database_url, application_name="dwh"), pytest.raises(Refused, match="dwh of dwh is connected"):
        restore(store, tmp_path / "kept", manifest, "tester", "a test")


def test_a_damaged_or_newer_backup_is_refused_before_anything_changes(store: Database, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    back_up(store, kept)
    with pytest.raises(ConfigError, match="not empty"):
        back_up(store, kept)
    with pytest.raises(ConfigError, match="newer than this code"):
        read_backup(kept, Schema(migrations=migrations()[:-1]))
    dump = (kept / DUMP).read_bytes()
    for damaged in (dump[:-1], dump[:100] + b"x" + dump[101:]):
        (kept / DUMP).write_bytes(damaged)
        with pytest.raises(DamagedData, match="not the file"):
            read_backup(kept)
    (kept / MANIFEST).write_text(json.dumps({"format": 1}))
    with pytest.raises(DamagedData, match="cannot be read"):
        read_backup(kept)
    with pytest.raises(ConfigError, match="holds no backup"):
        read_backup(tmp_path)
