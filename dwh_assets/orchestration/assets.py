"""One asset per module. Materializing it loads its blocks the way the command line does."""

from collections.abc import Iterator
from typing import Any

from dagster import AssetExecutionContext, AssetsDefinition, BackfillPolicy, Config, multi_asset
from pydantic import Field

from dwh_assets.model.module import Module
from dwh_assets.orchestration.names import identifier
from dwh_assets.orchestration.project import Project
from dwh_assets.orchestration.resources import Offsets, WarehouseSpark
from dwh_assets.orchestration.runs import run_blocks
from dwh_assets.orchestration.specs import check_specs, module_spec


class Override(Config):
    """What a person may ask for in the launchpad."""

    override: str = Field(
        default="",
        description="A reason to load now in spite of repeat, window and back-off. It is kept in the log.",
    )


def module_asset(project: Project, module: Module) -> AssetsDefinition:
    @multi_asset(
        name=f"load_{identifier(module.name)}",
        specs=[module_spec(project, module)],
        check_specs=check_specs(module),
        can_subset=True,  # checks are reported with the blocks they belong to; a run that loads nothing reports none
        backfill_policy=BackfillPolicy.single_run(),
        op_tags={"dwh/module": module.name},
    )
    def load(context: AssetExecutionContext, config: Override, offsets: Offsets, pyspark: WarehouseSpark) -> Iterator[Any]:
        yield from run_blocks(context, offsets.engine, module.name, config.override)

    return load
