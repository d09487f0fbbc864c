"""dwh clean: what goes, what stays, and that nothing goes while something runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dwh_assets.engine.presence import alone, present
from tests.cli.conftest import Project


@pytest.fixture
def home(files: Project) -> Path:
    home = files.folder / ".dwh"
    for name in (
        "logs/dwh.log",
        "logs/dwh.log.1",
        "spark/local/blockmgr-1/a",
        "postgres/data.new/b",
        "warehouse/fact/c",
        "mine.txt",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x" * 1000)
    old = time.time() - 30 * 86_400
    os.utime(home / "logs" / "dwh.log.1", (old, old))
    return home


def held(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_old_logs_and_scratch_files_go_and_nothing_else(files: Project, home: Path) -> None:
    assert "removed 3" in files.ok("clean").out
    assert held(home) == {"logs/dwh.log", "warehouse/fact/c", "mine.txt", "owned/users.lock"}
    assert "nothing to clean" in files.ok("clean").out


def test_nothing_goes_while_something_runs(files: Project, home: Path) -> None:
    before = held(home) | {"up.lock", "owned/users.lock"}
    with alone(home):
        assert f"as process {os.getpid()}" in files.dwh("clean").err
    with present(home, lambda name: None):
        answer = files.dwh("clean", "--all", "--yes")
        assert (answer.code, "another dwh command works" in answer.err) == (2, True)
    assert held(home) == before


def test_all_goes_only_when_asked_for_twice_and_what_is_not_ours_stays(files: Project, home: Path) -> None:
    refused = files.dwh("clean", "--all")
    assert (refused.code, "say --yes" in refused.err) == (2, True)
    assert (home / "warehouse" / "fact" / "c").exists()
    said = files.ok("clean", "--all", "--yes").out
    assert "mine.txt was not made by dwh" in said.replace("\n", "")
    assert held(home) == {"mine.txt"}
    (home / "mine.txt").unlink()
    files.ok("clean", "--all", "--yes")
    assert not home.exists()
    assert "nothing to clean" in files.ok("clean").out
