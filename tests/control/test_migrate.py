"""Migrations add up to one schema, from any starting point and from any number of processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.migrate import Schema, migrate, prepare
from dwh_assets.control.statements import migrations
from dwh_assets.model.errors import ConfigError

_COLUMNS = """
    select table_schema, table_name, column_name, ordinal_position, data_type, numeric_precision, is_nullable, column_default,
           is_identity, generation_expression
      from information_schema.columns where table_schema in ('dwh', 'iceberg') order by 1, 2, 3"""
_CONSTRAINTS = """
    select conrelid::regclass::text as relation, conname, pg_get_constraintdef(oid) as definition
      from pg_constraint where connamespace::regnamespace::text in ('dwh', 'iceberg') order by 1, 2"""
_INDEXES = "select indexname, indexdef from pg_indexes where schemaname in ('dwh', 'iceberg') order by 1, 2"
_VIEWS = "select viewname, definition from pg_views where schemaname in ('dwh', 'iceberg') order by 1"


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    database = Database(empty_url, deadline=20)
    yield database
    database.close()


def description(database: Database) -> list[list[dict[str, object]]]:
    return [database.fetch(query) for query in (_COLUMNS, _CONSTRAINTS, _INDEXES, _VIEWS)]


def migrate_url(url: str) -> list[str]:
    database = Database(url, deadline=20)
    try:
        return migrate(database)
    finally:
        database.close()


def test_a_database_migrated_file_by_file_equals_a_fresh_one(empty: Database, database: Database) -> None:
    files = migrations()
    for count in range(1, len(files) + 1):
        assert files[count - 1].stem in migrate(empty, Schema(files[:count], []))
    migrate(empty)
    assert description(empty) == description(database)
    assert len(description(empty)[0]) > 50


def test_a_second_migration_does_nothing(database: Database) -> None:
    assert migrate(database) == []


def test_two_processes_that_migrate_at_once_apply_each_file_once(empty: Database) -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        applied = list(pool.map(migrate_url, [empty.url, empty.url]))
    assert sorted(applied[0] + applied[1]) == sorted([*(file.stem for file in migrations()), "views"])


def test_who_comes_to_use_a_store_makes_one_where_there_is_none_and_leaves_an_earlier_one_as_it_is(empty: Database) -> None:
    prepare(empty)
    assert migrate(empty) == []
    prepare(empty)
    later = Path("9999_later.sql")
    with pytest.raises(ConfigError, match="is of an earlier version: 9999_later must be applied"):
        prepare(empty, Schema([*migrations(), later]))


def test_a_store_is_made_whole_or_not_at_all(empty: Database, tmp_path: Path) -> None:
    good, bad = tmp_path / "0001_core.sql", tmp_path / "0002_bad.sql"
    good.write_text("create table dwh.a (x integer);")
    bad.write_text("select 1/0;")
    with pytest.raises(Exception, match="division by zero"):
        migrate(empty, Schema([good, bad], []))
    bad.write_text("create table dwh.b (x integer);")
    prepare(empty, Schema([good, bad], []))
    assert empty.fetch("select * from dwh.b") == []


def test_a_migration_changed_after_it_was_applied_is_refused_by_name(empty: Database, tmp_path: Path) -> None:
    file = tmp_path / "0001_core.sql"
    file.write_text("create table dwh.a (x integer);")
    migrate(empty, Schema([file], []))
    file.write_text("create table dwh.b (x integer);")
    with pytest.raises(ConfigError, match="0001_core was changed"):
        migrate(empty, Schema([file], []))


def test_a_database_newer_than_the_code_is_refused_by_name(empty: Database, tmp_path: Path) -> None:
    file = tmp_path / "0001_core.sql"
    file.write_text("create table dwh.a (x integer);")
    migrate(empty, Schema([file], []))
    with pytest.raises(ConfigError, match="0001_core, which this code does not know"):
        migrate(empty, Schema([], []))


def test_a_migration_that_fails_leaves_nothing_behind(empty: Database, tmp_path: Path) -> None:
    file = tmp_path / "0001_core.sql"
    file.write_text("create table dwh.a (x integer); select 1/0;")
    with pytest.raises(Exception, match="division by zero"):
        migrate(empty, Schema([file], []))
    file.write_text("create table dwh.a (x integer);")
    assert migrate(empty, Schema([file], [])) == ["0001_core", "views"]


def test_views_are_renewed_together_and_do_not_stop_a_later_migration(empty: Database, tmp_path: Path) -> None:
    first, second = tmp_path / "0001_a.sql", tmp_path / "0002_b.sql"
    view, upon = tmp_path / "a.sql", tmp_path / "b.sql"
    first.write_text("create table dwh.a (x integer);")
    second.write_text("alter table dwh.a alter x type bigint;")
    view.write_text("-- One.\ncreate view dwh.v as select x from dwh.a;")
    upon.write_text("-- Two.\ncreate view dwh.w as select x from dwh.v;")
    assert migrate(empty, Schema([first], [view, upon])) == ["0001_a", "views"]
    assert migrate(empty, Schema([first, second], [view, upon])) == ["0002_b", "views"]
    view.write_text("-- One.\ncreate view dwh.v as select x + 1 as x from dwh.a;")
    assert migrate(empty, Schema([first, second], [view, upon])) == ["views"]
    assert [row["viewname"] for row in empty.fetch(_VIEWS)] == ["v", "w"]


def test_a_migration_may_name_its_earlier_text_and_no_other(empty: Database, tmp_path: Path) -> None:
    file = tmp_path / "0001_core.sql"
    file.write_text("create table dwh.a (x bigint);")
    migrate(empty, Schema([file], []))
    (applied,) = empty.fetch("select checksum from dwh.migration where version = 1")
    file.write_text(f"-- earlier: {applied['checksum']}\ncreate table dwh.a (x integer);")
    assert migrate(empty, Schema([file], [])) == []
    file.write_text(f"-- earlier: {'0' * 64}\ncreate table dwh.a (x integer);")
    with pytest.raises(ConfigError, match="was changed after it was applied"):
        migrate(empty, Schema([file], []))
