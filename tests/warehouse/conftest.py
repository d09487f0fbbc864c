"""A catalog on the test's own database, and the one statement by which a pointer is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.publish import Pointer
from dwh_assets.warehouse.tables import create_or_widen
from tests.warehouse.writing import COLUMNS, SALES, parameters


@pytest.fixture
def catalog(database_url: str, tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(database_url, str(tmp_path / "warehouse"))
    yield catalog
    catalog.close()


@pytest.fixture
def sales(catalog: Catalog) -> str:
    """An empty table. It is not partitioned: pyiceberg would need a library of its own to write partitions."""
    create_or_widen(catalog, SALES, COLUMNS, None, {})
    return SALES


@pytest.fixture
def publish(database: Database) -> Callable[[Pointer], bool]:
    """Publish a pointer as the commit does; False if it was taken meanwhile."""

    def publish(pointer: Pointer) -> bool:
        return database.fetch_one(sql("publish_pointer"), **parameters(pointer)) is not None

    return publish
