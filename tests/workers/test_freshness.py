"""A worker begins anew when the Lineage or its code is another, or when its memory has grown."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.database import Database
from dwh_assets.workers.freshness import MEGABYTE, Freshness
from tests.control.small import MODULE, Store


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(project=tmp_path, home=tmp_path)


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of the project that this process has loaded."""
    file = tmp_path / "rules_of_a_test.py"
    file.write_text("RATE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(file.stem)
    yield file
    del sys.modules[file.stem]


def test_a_changed_lineage_outdates_a_worker(database: Database, settings: Settings) -> None:
    store = Store(database)
    fresh = Freshness(store.lineage, settings)
    assert fresh.outdated() is None
    store.apply(MODULE)
    assert fresh.outdated() == "the Lineage in force has changed"
    assert Freshness(store.lineage, settings).outdated() is None


def test_changed_and_removed_code_of_the_project_outdates_a_worker(database: Database, settings: Settings, rules: Path) -> None:
    fresh = Freshness(Store(database).lineage, settings)
    assert fresh.outdated() is None
    rules.write_text("RATE = 1.5\n")
    assert fresh.outdated() == f"code has changed: {rules}"
    again = Freshness(Store(database).lineage, settings)
    rules.unlink()
    assert again.outdated() == f"code has changed: {rules}"


def test_a_worker_whose_memory_has_grown_beyond_its_limit_is_outdated(database: Database, settings: Settings) -> None:
    used = 400 * MEGABYTE
    limited = settings.model_copy(update={"worker_memory": 500})
    fresh = Freshness(Store(database).lineage, limited, lambda: used)
    assert fresh.outdated() is None
    used = 501 * MEGABYTE
    assert fresh.outdated() == "it uses 501 MB, more than DWH_WORKER_MEMORY"
    assert Freshness(Store(database).lineage, settings, lambda: used).outdated() is None
