"""What Dagster shows of a module: its key, dependencies, group, owner, kinds, description, columns, code and freshness."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from dagster import (
    AllPartitionMapping,
    AssetCheckSpec,
    AssetDep,
    AssetKey,
    AssetSpec,
    DynamicPartitionsDefinition,
    FreshnessPolicy,
    MetadataValue,
    TableColumn,
    TableSchema,
)

from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Module, SourceTable
from dwh_assets.model.parameter import resolve
from dwh_assets.orchestration.column_lineage import column_metadata
from dwh_assets.orchestration.names import BUILT_IN_CHECKS, check_name, identifier, input_keys, module_key, team
from dwh_assets.orchestration.project import Project
from dwh_assets.processors.transform import code_version, file_of

SHORTEST = timedelta(minutes=20)  # Dagster counts from the last block, and a quiet source brings none


def partitions_of(module: Module) -> DynamicPartitionsDefinition:
    return DynamicPartitionsDefinition(name=module.name)


def module_spec(project: Project, module: Module) -> AssetSpec:
    version, description = _code(project, module)
    return AssetSpec(
        key=module_key(module),
        deps=[AssetDep(key, partition_mapping=AllPartitionMapping()) for key in input_keys(project.lineage, module)],
        skippable=True,  # a run says itself what it loaded
        group_name=identifier(module.area or "default"),
        owners=[team(module.owner)] if module.owner else None,
        kinds={"spark", "iceberg", _kind(project, module)},
        description=description,
        metadata=_metadata(project, module),
        code_version=version,
        freshness_policy=_freshness(module),
        partitions_def=partitions_of(module),
    )


def source_spec(source: SourceTable) -> AssetSpec:
    return AssetSpec(
        key=AssetKey(source.name.split(".")),
        group_name="sources",
        kinds={source.kind},
        description=source.description or f"A table that is not built here, read from {source.kind}.",
        metadata={"dagster/table_name": source.relation or source.name, "dwh/position": ", ".join(source.position)},
    )


def check_specs(module: Module) -> list[AssetCheckSpec]:
    key = module_key(module)
    built_in = [AssetCheckSpec(name, asset=key, description=text) for name, text in BUILT_IN_CHECKS.items()]
    declared = [
        AssetCheckSpec(
            check_name(check), asset=key, description=_check_in_words(module, number), blocking=check.severity == "error"
        )
        for number, check in enumerate(module.checks)
    ]
    return [*built_in, *declared]


def _kind(project: Project, module: Module) -> str:
    """What its rows come by: SQL, Python, or a stream of events."""
    if module.processor == "ingest":
        return next((source.kind for source in project.lineage.sources if source.name == module.base), "kafka")
    return "sql" if all(transform.endswith(".sql") for transform in module.transforms) else "python"


def _code(project: Project, module: Module) -> tuple[str | None, str]:
    """The version of its transforms, and its description. A transform that is gone since it was applied is told there: its
    module fails when it is next due, and the others are shown all the same."""
    folder = project.settings.transforms_folder
    try:
        version = code_version(module, folder, resolve(project.lineage.parameters, (), module.parameters))
        return version, _description(module, [_shown(folder, name) for name in module.transforms if name.endswith(".sql")])
    except ConfigError as error:
        return None, _description(module, [f"**It cannot be loaded now.** {error}"])


def _shown(folder: Path, transform: str) -> str:
    return f"```sql\n{file_of(folder, transform).read_text().strip()}\n```"


def _description(module: Module, texts: list[str]) -> str:
    """For the business first; the SQL at the end for those who scroll."""
    parts = [module.description or f"{module.table}, loaded block by block from {module.base}.", module.comment]
    return "\n\n".join(part for part in [*parts, *texts] if part)


def _metadata(project: Project, module: Module) -> dict[str, Any]:
    columns = project.columns.get(module.table, [])
    shown: dict[str, Any] = {
        "dagster/table_name": module.table,
        "dwh/processor": module.processor,
        "dwh/base_table": module.base,
        "dwh/delay": str(module.delay),
        "dwh/repeat": str(module.repeat),
        "dwh/maxstep": module.maxstep,
        "dwh/lineage": project.origin,
        "dwh/transforms": MetadataValue.md("\n".join(f"- `{name}`" for name in module.transforms) or "-"),
    }
    if columns:
        shown["dagster/column_schema"] = TableSchema(
            columns=[TableColumn(c["name"], c["type"], description=module.columns.get(c["name"])) for c in columns]
        )
    return shown | column_metadata(project.lineage, module, project.column_lineage.get(module.name))


def _freshness(module: Module) -> FreshnessPolicy:
    """A table with new rows is loaded every `repeat`, `delay` behind; three times as long is a warning, ten times a failure."""
    usual = max(module.repeat, SHORTEST)
    return FreshnessPolicy.time_window(warn_window=module.delay + 3 * usual, fail_window=module.delay + 10 * usual)


def _check_in_words(module: Module, number: int) -> str:
    check = module.checks[number]
    effect = "A block that fails it is parked, unseen by readers." if check.severity == "error" else "It warns."
    return f"Declared in the Lineage: {check.name}. {effect}"
