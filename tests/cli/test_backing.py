"""dwh backup, restore and upgrade: the control store kept, put back, and brought to the schema of this code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.migrate import Schema, migrate
from dwh_assets.control.statements import migrations
from tests.cli.conftest import Project
from tests.control.small import TOPIC, ready


@pytest.fixture
def earlier(files: Project, empty_url: str) -> Project:
    """A control store that the version before this one made."""
    database = Database(empty_url, deadline=20)
    migrate(database, Schema(migrations()[:-1], []))
    database.close()
    files.environment.update(DWH_POSTGRES_URL=empty_url)
    return files


def test_an_earlier_control_store_is_changed_by_upgrade_alone_and_after_a_backup(earlier: Project) -> None:
    *known, last = [file.stem for file in migrations()]
    for command in (("status",), ("run", "--until-dry"), ("lineage", "apply", "--yes")):
        refused = earlier.dwh(*command)
        assert refused.code == 2
        assert f"is of an earlier version: {last} must be applied" in refused.err
        assert "dwh upgrade" in refused.err
    done = earlier.ok("upgrade", "--json").json
    assert done["applied"] == [last, "views"]
    assert json.loads((Path(done["backup"]) / "manifest.json").read_text())["migrations"] == known
    assert earlier.ok("status", "--json").json == []
    assert earlier.ok("upgrade").out.strip() == "The control store is up to date."


def test_a_restored_store_is_that_of_the_backup_and_says_what_to_type_next(
    files: Project, database: Database, database_url: str, tmp_path: Path
) -> None:
    store = ready(database, 1, 2)
    files.environment.update(DWH_POSTGRES_URL=database_url)
    kept = tmp_path / "kept"
    assert "0 committed blocks" in files.ok("backup", str(kept)).out
    store.load()
    database.close()
    without = files.dwh("restore", str(kept))
    assert (without.code, "say why with --reason" in without.err) == (2, True)
    answer = files.ok("restore", str(kept), "--reason", "a test", "--yes")
    assert "made at" in answer.out
    assert "`dwh verify` says whether the tables agree with it" in answer.out
    assert {block["status"] for block in files.ok("blocks", TOPIC, "--json").json} <= {"planned", "start"}
