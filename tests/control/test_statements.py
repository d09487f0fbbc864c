"""Every SQL file is found, and opens with what it does."""

from __future__ import annotations

import pytest

from dwh_assets.control.statements import folder, migrations, sql, views


@pytest.mark.parametrize("file", [*sorted((folder() / "queries").glob("*.sql")), *migrations(), *views()], ids=lambda f: f.stem)
def test_a_sql_file_opens_with_what_it_does(file) -> None:
    assert file.read_text().startswith("-- ")


def test_a_query_is_found_by_its_name() -> None:
    assert "dwh.migration" in sql("read_ledger")


def test_migrations_are_numbered_without_gap() -> None:
    assert [int(file.name[:4]) for file in migrations()] == list(range(1, len(migrations()) + 1))
