"""dwh drop: a table that is built no more goes with its files."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dwh_assets.control.database import Database
from dwh_assets.engine import drop as dropping
from dwh_assets.warehouse.catalog import Catalog
from tests.cli.conftest import Project
from tests.control.small import MODULE, TOPIC, Store, ready

FOLDER = ".dwh/warehouse/fact/sales"


@pytest.fixture
def store(database: Database) -> Store:
    store = ready(database, 1, 2)
    store.load()
    return store


@pytest.fixture
def warehouse(files: Project, store: Store, database_url: str) -> Project:
    """A loaded table of one file, and a note that somebody put beside it; Spark is not needed and not there."""
    files.environment.update(DWH_POSTGRES_URL=database_url, DWH_SPARK_REMOTE="sc://127.0.0.1:1")
    catalog = Catalog(database_url, str(files.folder / ".dwh" / "warehouse"))
    catalog.sql.create_namespace("fact")
    catalog.sql.create_table(TOPIC, pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2, 3]}))
    catalog.close()
    (files.folder / FOLDER / "note.txt").write_text("mine")
    return files


def left(project: Project) -> list[str]:
    return sorted(str(path.relative_to(project.folder / FOLDER)) for path in (project.folder / FOLDER).rglob("*"))


def test_a_table_goes_with_its_files_at_once_and_what_a_crash_left_goes_with_the_same_command(
    warehouse: Project, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = warehouse.dwh("drop", TOPIC, "--reason", "x")
    assert (built.code, "still built by fact.sales" in built.err) == (2, True)
    store.apply()
    without = warehouse.dwh("drop", TOPIC)
    assert (without.code, "say why with --reason" in without.err) == (2, True)

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dropping, "delete_files", killed)
        assert warehouse.dwh("drop", TOPIC, "--reason", "x").code == 130
    assert "data" in left(warehouse)
    done = warehouse.ok("drop", TOPIC, "--reason", "the rest", "--json").json
    assert done["tables"][0]["rows"] is None
    assert done["tables"][0]["files"] > 0
    assert left(warehouse) == ["note.txt"]
    assert "nothing of it is left" in warehouse.ok("drop", TOPIC, "--reason", "again").out


def test_what_goes_is_shown_with_its_rows(warehouse: Project, store: Store) -> None:
    store.apply()
    said = warehouse.ok("drop", TOPIC, "--reason", "x").out
    assert "fact.sales" in said
    assert "files were deleted now" in said
    assert store.events("DROP")[0]["text"].endswith("with 1 blocks: x")
    assert store.apply(MODULE) is not None
