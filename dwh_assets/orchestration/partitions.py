"""Keep Dagster's lists of partition keys equal to the ledger's blocks, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dagster import DagsterInstance

from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Module
from dwh_assets.orchestration.specs import partitions_of

Row = dict[str, Any]
LIVE_KEYS = 10_000  # with more, pages of the UI take long; older blocks stay in the ledger


class PartitionLists:
    """Remembers what it last saw of each module, so that only those that changed are compared."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def sync(self, instance: DagsterInstance, engine: Engine, modules: Sequence[Module]) -> int:
        """Returns how many lists had changed."""
        states, changed = engine.partitions.states(), 0
        for module in modules:
            state = states.get(module.name, "")
            if self._seen.get(module.name) != state:
                changed += sync_module(instance, engine, module)
                self._seen[module.name] = state
        return changed


def sync_module(instance: DagsterInstance, engine: Engine, module: Module) -> bool:
    """Make the list equal: Dagster keeps the order in which keys were added, and a range from a later to an earlier is empty."""
    name = _name(module)
    gone, new = changes(listed_keys(instance, module), [row["key"] for row in live_blocks(engine, module)])
    for key in gone:
        instance.delete_dynamic_partition(name, key)
    if new:
        instance.add_dynamic_partitions(name, new)
    return bool(gone or new)


def listed_keys(instance: DagsterInstance, module: Module) -> list[str]:
    """The keys as Dagster has them now."""
    return list(instance.get_dynamic_partitions(_name(module)))


def live_blocks(engine: Engine, module: Module) -> list[Row]:
    """The blocks that it should list, in order."""
    return engine.partitions.of_module(module.name, max(1, LIVE_KEYS // max(1, len(module.shards))))


def _name(module: Module) -> str:
    name = partitions_of(module).name
    assert name is not None
    return name


def changes(present: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which keys to delete, and which to add at the end, so that `present` becomes `wanted` in its order.

    What stays is the longest beginning of `wanted` that is there in order: a key that comes too late in the list is added again.
    """
    kept: list[str] = []
    remaining = iter(present)
    for key in wanted:
        if key not in remaining:  # moves on to behind the key, or to the end
            break
        kept.append(key)
    keep = set(kept)
    return [key for key in present if key not in keep], list(wanted[len(kept) :])
