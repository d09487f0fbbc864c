"""All definitions of a project, put together."""

from dagster import Definitions, in_process_executor

from dwh_assets.orchestration.assets import module_asset
from dwh_assets.orchestration.project import Project
from dwh_assets.orchestration.resources import Offsets, WarehouseSpark
from dwh_assets.orchestration.sensors import area_sensor, by_area
from dwh_assets.orchestration.specs import source_spec
from dwh_assets.orchestration.watching import watch_sensor


def definitions(project: Project) -> Definitions:
    active = [module for module in project.lineage.modules if module.active]
    return Definitions(
        assets=[
            *(module_asset(project, module) for module in active),
            *(source_spec(source) for source in project.lineage.sources),
        ],
        sensors=[*(area_sensor(area, modules) for area, modules in by_area(active).items()), watch_sensor()],
        resources={"offsets": Offsets(), "pyspark": WarehouseSpark()},
        executor=in_process_executor,  # a process per step would start for nothing: a run is one step
    )
