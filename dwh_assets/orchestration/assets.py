"""One asset per module. Materializing it loads its blocks the way the command line does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dagster import AssetsDefinition, BackfillPolicy, Field, multi_asset

from dwh_assets.model.module import Module
from dwh_assets.orchestration.names import identifier
from dwh_assets.orchestration.project import Project
from dwh_assets.orchestration.runs import run_blocks
from dwh_assets.orchestration.specs import check_specs, module_spec

# What a person may ask for in the launchpad.
LAUNCHPAD = {
    "override": Field(
        str,
        default_value="",
        description="A reason to load now in spite of repeat, window and back-off. It is kept in the log.",
    )
}


def module_asset(project: Project, module: Module) -> AssetsDefinition:
    """Its config and resources are named, not annotated: Dagster would infer them from the signature anew for each asset, a
    quarter of all that is done for a thousand definitions."""

    @multi_asset(
        name=f"load_{identifier(module.name)}",
        specs=[module_spec(project, module)],
        check_specs=check_specs(module),
        can_subset=True,  # checks are reported with the blocks they belong to; a run that loads nothing reports none
        backfill_policy=BackfillPolicy.single_run(),
        op_tags={"dwh/module": module.name},
        config_schema=LAUNCHPAD,
        required_resource_keys={"offsets", "pyspark"},
    )
    def load(context) -> Iterator[Any]:
        override = context.op_execution_context.op_config["override"]
        yield from run_blocks(context, context.resources.offsets.engine, module.name, override)

    return load
