"""The reconciler: what is committed is shown, what is shown was committed (R11)."""

from __future__ import annotations

from dagster import DagsterInstance

from dwh_assets.engine.engine import Engine
from dwh_assets.engine.materialize import topic_of
from dwh_assets.model.errors import UnknownPartition
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.partition import parse_key
from dwh_assets.orchestration.names import module_key
from dwh_assets.orchestration.reports import Reporter

PATIENCE = 30.0  # seconds in which a run that lives has reported its block itself


def report_forgotten(instance: DagsterInstance, engine: Engine, lineage: Lineage, age: float = PATIENCE) -> int:
    """Blocks that were committed without an event get it, once: their run died between the two, or there was none."""
    reporter = Reporter(instance, engine, lineage)
    return sum(reporter.report_execution(row["topic_id"], row["id"], found=True) for row in engine.partitions.unreported(age))


def report_unfounded(instance: DagsterInstance, engine: Engine, lineage: Lineage) -> list[str]:
    """Events of blocks that were never committed become alerts: someone has reported by hand what was not loaded."""
    unfounded = [(module, key) for module in lineage.modules for key in _unfounded(instance, engine, module)]
    for module, key in unfounded:
        text = f"Dagster shows {key} of {module.name} as materialized, but no such block was ever committed. No data is affected."
        engine.alerts.raise_alert("event_without_block", f"event:{module.name}:{key}", module.name, None, "warn", text)
    return [f"{module.name} {key}" for module, key in unfounded]


def _unfounded(instance: DagsterInstance, engine: Engine, module: Module) -> list[str]:
    shown = instance.get_materialized_partitions(module_key(module))
    numbers: dict[str, dict[int, str]] = {}
    strange: list[str] = []
    for key in shown:
        try:
            parsed = parse_key(key)
        except UnknownPartition:
            strange.append(key)
        else:
            numbers.setdefault(topic_of(module.name, parsed.shard), {})[parsed.seq] = key
    for topic, keys in numbers.items():
        known = engine.partitions.ever_committed(topic, list(keys))
        strange += [key for seq, key in keys.items() if seq not in known]
    return sorted(strange)
