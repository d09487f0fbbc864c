"""Blocks that were built by an earlier transform than the one in the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dwh_assets.config.lineage_spec import to_spec
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import resolve
from dwh_assets.processors.transform import code_version

SHAPE = ("before", "key", "deleted", "processor")  # what decides about rows beside the transforms and their parameters


@dataclass(frozen=True)
class Outdated:
    """Blocks of one topic, by sequence number, and the rows they hold."""

    topic: str
    first: int
    last: int
    blocks: int
    rows: int


def outdated(engine: Engine, lineage: Lineage) -> list[Outdated]:
    """What this Lineage would build in another way than it was built, in the order of the modules."""
    return [found for module in lineage.modules for found in _of_module(engine, lineage, module)]


def _of_module(engine: Engine, lineage: Lineage, module: Module) -> Iterator[Outdated]:
    spec = to_spec(module)
    shape = json.dumps({field: spec[field] for field in SHAPE})
    versions = sorted(set(_versions(engine, lineage, module)))
    for row in engine.database.fetch(sql("outdated_blocks"), module=module.name, versions=versions, shape=shape):
        yield Outdated(**row)


def _versions(engine: Engine, lineage: Lineage, module: Module) -> Iterator[str]:
    """A batch may bring values of its own: what it built with them is not outdated."""
    for of_batch in ((), *(batch.parameters for batch in lineage.batches)):
        parameters = resolve(lineage.parameters, of_batch, module.parameters)
        yield code_version(module, engine.settings.transforms_folder, parameters)
