"""What modules, topics and checks are called in Dagster."""

from __future__ import annotations

import re

from dagster import AssetKey

from dwh_assets.model.module import Check, Lineage, Module

TOPIC_TAG = "dwh/topic"
BLOCK_TAG = "dwh/block"
BY_TAG = "dwh/by"
EXECUTION_TAG = "dwh/execution"
PRIORITY_TAG = "dagster/priority"  # as in Dagster's own queue
SENSOR = "sensor"
BUILT_IN_CHECKS = {
    "block_rows": "Rows of the newest block, and how many base rows they were made from.",
    "nulls": "Nulls per column of the newest block.",
    "late_rows": "Base rows that appeared in ranges that are loaded already; `dwh restate TOPIC --late` loads them;"
    " and blocks whose base rows were changed since, as the audit found.",
    "freshness": "How far the table is behind the clock, and whether it should be further.",
}


def module_key(module: Module) -> AssetKey:
    """`[db, table]`, and the tag where a table is built from several streams."""
    return AssetKey([*module.table.split("."), *([module.tag] if module.tag else [])])


def table_keys(lineage: Lineage, table: str) -> list[AssetKey]:
    """The assets that a table stands for: one for each module that builds it, or the source itself."""
    return [module_key(module) for module in lineage.builders(table)] or [AssetKey(table.split("."))]


def input_keys(lineage: Lineage, module: Module) -> list[AssetKey]:
    """The assets that a module reads."""
    keys = [key for table in module.inputs for key in table_keys(lineage, table)]
    return [key for key in dict.fromkeys(keys) if key != module_key(module)]


def identifier(text: str) -> str:
    """Letters, digits and underscores, as Dagster wants its names."""
    return re.sub(r"\W+", "_", text).strip("_") or "unnamed"


def check_name(check: Check) -> str:
    name = identifier(check.name)
    return f"declared_{name}" if name in BUILT_IN_CHECKS else name


def team(owner: str) -> str:
    return owner if "@" in owner else f"team:{re.sub(r'[^A-Za-z0-9_-]+', '-', owner)}"
