"""All definitions of a project, put together."""

from dagster import Definitions, ExecutorDefinition, in_process_executor

from dwh_assets.orchestration.assets import module_asset
from dwh_assets.orchestration.batches import batch_job, batch_schedule
from dwh_assets.orchestration.project import Project
from dwh_assets.orchestration.resources import Offsets, WarehouseSpark
from dwh_assets.orchestration.sensors import area_sensor, by_area
from dwh_assets.orchestration.specs import source_spec
from dwh_assets.orchestration.watching import watch_sensor


def definitions(project: Project, executor: ExecutorDefinition = in_process_executor) -> Definitions:
    """A run is one step, so it is executed in the process that took it: one of its own would start for nothing."""
    active = [module for module in project.lineage.modules if module.active]
    jobs = {batch: batch_job(batch) for batch in project.lineage.batches}
    return Definitions(
        assets=[
            *(module_asset(project, module) for module in active),
            *(source_spec(source) for source in project.lineage.sources),
        ],
        sensors=[*(area_sensor(area, modules) for area, modules in by_area(active).items()), watch_sensor()],
        jobs=list(jobs.values()),
        schedules=[batch_schedule(batch, job) for batch, job in jobs.items() if batch.frequency],
        resources={"offsets": Offsets(), "pyspark": WarehouseSpark()},
        executor=executor,
    )
