"""The files of this project fit together. Needs no server: `pip install pytest`, then `pytest`."""

from __future__ import annotations

from pathlib import Path

from dwh_assets.config.lineage_files import load_lineage

PROJECT = Path(__file__).parents[1]


def test_the_lineage_is_sound() -> None:
    lineage = load_lineage(PROJECT / "lineage", PROJECT / "sql" / "transforms")
    assert {module.table for module in lineage.modules} >= {"stage.orders", "fact.orders"}
