"""A small project in a folder: Lineage files and transforms, as texts."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.model.errors import LineageError
from dwh_assets.model.module import Lineage


class Project:
    def __init__(self, root: Path) -> None:
        self.lineage, self.transforms = root / "lineage", root / "sql" / "transforms"
        self.write("lineage/sources/shop.yaml", "- {name: stage.sales, kind: iceberg}\n- {name: dim.customer, kind: iceberg}\n")
        self.write("sql/transforms/fact/sales.sql", "select * from {{ block }}")

    def write(self, path: str, text: str) -> Project:
        file = self.lineage.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return self

    def load(self) -> Lineage:
        return load_lineage(self.lineage, self.transforms)

    def problems(self) -> list[str]:
        with pytest.raises(LineageError) as refused:
            self.load()
        return refused.value.problems


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
