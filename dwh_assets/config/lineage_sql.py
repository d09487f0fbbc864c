"""The SQL that Lineage files name or hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dwh_assets.config.lineage_entries import Entry, Problem
from dwh_assets.config.lineage_forms import ModuleForm
from dwh_assets.model.module import Lineage, Module


def sql_problems(entry: Entry[ModuleForm], module: Module, lineage: Lineage, folder: Path, transforms: Path) -> Iterator[Problem]:
    for i, name in enumerate(module.transforms):
        if ":" not in name and not (transforms / name).is_file():
            yield entry.problem(
                f"there is no file {name} below {transforms.name}; write it, or correct the path", "transforms", i
            )
