"""What docs/connect.md tells readers from outside, done with the login of the viewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.exc import ProgrammingError

from dwh_assets.control.database import Database
from dwh_assets.control.roles import apply_roles
from dwh_assets.warehouse.catalog import Catalog

PAGE = Path(__file__).parents[2] / "docs" / "connect.md"
SALES = pa.table({"pos": [datetime(2026, 3, 1, tzinfo=UTC)] * 3, "id": [1, 2, 3], "amount": [5.0, 20.0, 30.0]})


@pytest.fixture
def catalog(database: Database, database_url: str, tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(database_url, str(tmp_path))
    catalog.sql.create_namespace("fact")
    catalog.sql.create_table("fact.sales", SALES.schema).append(SALES)
    apply_roles(database, {"DWH_VIEWER_PASSWORD": "secret-viewer"})
    yield catalog
    catalog.close()


def viewer_url(url: str) -> str:
    parts = conninfo_to_dict(url)
    place = f"{parts['host']}:{parts['port']}/{parts['dbname']}"
    return f"postgresql+psycopg://dwh_viewer:secret-viewer@{place}?options=-csearch_path%3Diceberg"


def example() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_for_pyiceberg_reads_with_the_login_of_the_viewer_and_writes_nothing(
    catalog: Catalog, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWH_VIEWER_URL", viewer_url(database_url))
    names: dict[str, Any] = {}
    exec(example(), names)
    assert names["rows"].to_pydict()["amount"] == [20.0, 30.0]
    with pytest.raises(ProgrammingError, match="permission denied"):
        names["table"].append(SALES)
    names["catalog"].engine.dispose()
    assert catalog.load("fact.sales").scan().to_arrow().num_rows == 3
